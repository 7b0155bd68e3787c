"""Makes compiled functions independent of one another, so that results do not depend on what was compiled before.

Numba compiles a copy of a function into each function that calls it. All copies have the same name, and within a
process the first copy that was loaded serves all callers. The copies may round differently. So the last bits of a
result would depend on whether a function was just compiled, or loaded from the cache. Here each compiled function calls
its own copies.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import binding
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class OwnCopies(JITCodeLibrary):
    """The machine code of a function, which nothing else in the process replaces."""

    def _finalize_final_module(self) -> None:
        self._finalized = True  # callers get copies of what is optimised by now, as Numba means it
        self._get_module_for_linking()
        self._finalized = False
        for function in self._final_module.functions:
            if function.linkage == binding.Linkage.linkonce_odr and not function.is_declaration:
                function.linkage = binding.Linkage.internal
        super()._finalize_final_module()


class OwnCopiesCompiler(Compiler):
    """Numba's compiler, with :class:`OwnCopies` as its result."""

    def compile_extra(self, func: Callable[..., object]) -> Any:
        """Compile a function."""
        self.state.library = OwnCopies(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.enable_object_caching()
        return super().compile_extra(func)
