"""What `scrapyd-deploy` runs to build an egg; all else is in `pyproject.toml`."""

import compileall
from py_compile import PycInvalidationMode

from setuptools import setup
from setuptools.command.install_lib import install_lib


class InstallWithBytecode(install_lib):
    """Writes the bytecode of an egg beside its modules: Python finds no other there."""

    def byte_compile(self, files: list[str]) -> None:
        """Compile the modules; a wheel leaves this to its installation."""
        if self.compile:
            how = PycInvalidationMode.UNCHECKED_HASH
            for name in files:
                compileall.compile_file(
                    name, quiet=1, legacy=True, invalidation_mode=how
                )


setup(cmdclass={"install_lib": InstallWithBytecode})
