"""Functions of images."""

from workbench.topi.image.resize import resize, resize2d, upsampling

__all__ = ["resize", "resize2d", "upsampling"]
