"""The primitives by family; `schedule.Schedule` joins the families."""
