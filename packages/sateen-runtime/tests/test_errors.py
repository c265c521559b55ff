from sateen.runtime import ArgumentError, SateenError, SessionError, SessionTimeoutError, errors


def test_every_error_descends_from_sateen_error() -> None:
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    assert all(issubclass(value, SateenError) for value in classes)


def test_a_caller_that_knows_only_sessions_catches_their_limits() -> None:
    assert issubclass(SessionTimeoutError, SessionError)


def test_a_report_shows_what_each_level_added_in_order() -> None:
    error = ArgumentError("conv2d: data has 3 channels but weight expects 4")
    error.add_note('in node "conv1" (Conv) of model "resnet18.onnx"')
    error.add_note("while running infer_types")
    assert error.report() == (
        "ArgumentError: conv2d: data has 3 channels but weight expects 4\n"
        '  in node "conv1" (Conv) of model "resnet18.onnx"\n'
        "  while running infer_types"
    )


def test_a_report_without_notes_is_one_line() -> None:
    assert SateenError("expected a, found b").report() == "SateenError: expected a, found b"


def test_a_report_escapes_what_can_not_be_printed() -> None:
    error = SateenError("expected a\nfound \x1b[2J\u202eb")
    error.add_note("in node 'c\nd'")
    assert error.report() == "SateenError: expected a\nfound \\x1b[2J\\u202eb\n  in node 'c\\nd'"
