"""The command that exports models."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from biosfa.cli._errors import one_line_errors
from biosfa.cli._options import one_of
from biosfa.cli._output import say
from biosfa.cli._recordings import PANEL, ModelFile

if TYPE_CHECKING:
    Output: TypeAlias = str
    DType: TypeAlias = str
else:
    Output = Annotated[
        one_of(("features", "neural_output")),
        typer.Option(help="What the graph computes. Only BioSFA has a neural output. A monitor gives its statistics."),
    ]
    DType = Annotated[one_of(("float32", "float64")), typer.Option(help="Precision of inputs, outputs and numbers.")]


def add_to(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(rich_help_panel=PANEL)(export)


def export(
    model: ModelFile,
    out: Annotated[Path, typer.Option(help="ONNX file to write.")],
    stream: Annotated[
        bool,
        typer.Option(
            "--stream",
            help="For delays, and for monitors: take rows and the last rows before them, not windows of rows.",
        ),
    ] = False,
    output: Output = "features",
    dtype: DType = "float32",
) -> None:
    """Write a model as an ONNX file, which other programs run without Python.

    The command prints the names and shapes of inputs and outputs. n is any number
    of rows.

    Example: [b]biosfa export model.safetensors --out model.onnx[/b]

    Row by row: [b]biosfa export model.safetensors --out model.onnx --stream[/b]
    """
    with one_line_errors():
        from biosfa.estimators import UnsavedParameterError, load
        from biosfa.integrations.onnx import to_onnx
        from biosfa.io.atomic import replace_file, writing
        from biosfa.io.targets import check_target, is_stream

        check_target(out, [model])
        try:
            loaded = load(model)
        except UnsavedParameterError as error:
            if error.parameter != "expansion":
                raise
            raise ValueError(
                f"{model} cannot be exported, because its expansion is a transformer of your own, which the file does "
                "not hold: fit a Pipeline of this transformer and a learner, and export it with skl2onnx and "
                "biosfa.integrations.skl2onnx.register()"
            ) from error
        exported = to_onnx(loaded, output=str(output), stream=stream, dtype=str(dtype))
        content = exported.SerializeToString()
        with writing(out):
            replace_file(out, lambda file: file.write(content))
        say(f"{out}: {len(content):,} bytes", aside=is_stream(out))
        for word, values in (("input", exported.graph.input), ("output", exported.graph.output)):
            for value in values:
                say(f"{word}: {value.name} ({_shape(value)})", aside=is_stream(out))


def _shape(value: Any) -> str:
    """Return the sizes of an input or output."""
    return ", ".join(size.dim_param or str(size.dim_value) for size in value.type.tensor_type.shape.dim)
