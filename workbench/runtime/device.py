"""Devices: where a tensor lives. `cpu()`, `cuda(1)`, `device("cpu:0")`."""

from __future__ import annotations

from typing import Any

from workbench.core.errors import WorkbenchError, did_you_mean

#: DLPack device types.
_TYPE_OF: dict[str, int] = {
    "cpu": 1,
    "llvm": 1,
    "c": 1,
    "cuda": 2,
    "nvptx": 2,
    "cuda_host": 3,
    "opencl": 4,
    "cl": 4,
    "vulkan": 7,
    "metal": 8,
    "vpi": 9,
    "rocm": 10,
    "rocm_host": 11,
    "ext_dev": 12,
    "cuda_managed": 13,
    "oneapi": 14,
    "webgpu": 15,
    "hexagon": 16,
    "maia": 17,
}
_NAME_OF = {
    code: name for name, code in reversed(_TYPE_OF.items()) if name not in ("llvm", "c", "cl")
}
_NAME_OF[2] = "cuda"


class DeviceError(WorkbenchError, ValueError):
    """A text that names no device, or a device that cannot be used here."""


class Device:
    """A device: `type` (a name), `index`, `dlpack_device_type()` (the number DLPack gives it)."""

    __slots__ = ("_code", "index")

    def __init__(self, device_type: str | int, index: int = 0) -> None:
        if isinstance(device_type, str):
            code = _TYPE_OF.get(device_type)
            if code is None:
                hint = did_you_mean(device_type, _TYPE_OF) or f"known: {', '.join(_TYPE_OF)}"
                raise DeviceError(f"unknown device {device_type!r}", hint=hint)
        else:
            code = int(device_type)
            if code not in _NAME_OF:
                raise DeviceError(f"unknown device type number {code}")
        if index < 0:
            raise DeviceError(f"device index must not be negative, got {index}")
        self._code = code
        self.index = int(index)

    @property
    def type(self) -> str:
        """The name of the kind of device."""
        return _NAME_OF[self._code]

    @property
    def device_type(self) -> int:
        """The DLPack number of the kind of device."""
        return self._code

    def dlpack_device_type(self) -> int:
        """The DLPack number of the kind of device."""
        return self._code

    @property
    def exist(self) -> bool:
        """Whether this runtime can allocate on the device and run on it (only the CPU so far)."""
        return self._code == 1 and self.index == 0

    def sync(self, stream: Any = None) -> None:
        """Waits for all work on the device; calls on the CPU have finished when they return."""
        if self._code != 1:
            raise DeviceError(f"{self}: this runtime has no such device")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self._code == other._code and self.index == other.index

    def __hash__(self) -> int:
        return hash((self._code, self.index))

    def __str__(self) -> str:
        return f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"device(type={self.type!r}, index={self.index})"

    def __reduce__(self) -> tuple[type[Device], tuple[str, int]]:
        return Device, (self.type, self.index)

    def __tvm_ffi_value__(self) -> Any:
        import tvm_ffi

        return tvm_ffi.device(self.type, self.index)


def device(device_type: str | int | Device, index: int | None = None) -> Device:
    """A device from "cpu", "cpu:0", "cuda", a DLPack number, or a device.

    Raises `DeviceError` if the text names no device.
    """
    if isinstance(device_type, Device):
        return device_type
    if isinstance(device_type, str) and ":" in device_type:
        name, _, number = device_type.partition(":")
        if not number.isdigit() or index is not None:
            raise DeviceError(f"expected a device such as 'cpu:0', got {device_type!r}")
        return Device(name, int(number))
    return Device(device_type, index or 0)


def enabled(target: str) -> bool:
    """Whether code for a kind of target or device runs here (only the CPU so far)."""
    return Device(target.split()[0]).exist


def cpu(dev_id: int = 0) -> Device:
    """The host processor."""
    return Device("cpu", dev_id)


def cuda(dev_id: int = 0) -> Device:
    """An NVIDIA GPU."""
    return Device("cuda", dev_id)


def rocm(dev_id: int = 0) -> Device:
    """An AMD GPU."""
    return Device("rocm", dev_id)


def opencl(dev_id: int = 0) -> Device:
    """An OpenCL device."""
    return Device("opencl", dev_id)


def vulkan(dev_id: int = 0) -> Device:
    """A Vulkan device."""
    return Device("vulkan", dev_id)


def metal(dev_id: int = 0) -> Device:
    """An Apple GPU."""
    return Device("metal", dev_id)


def ext_dev(dev_id: int = 0) -> Device:
    """An extension device."""
    return Device("ext_dev", dev_id)
