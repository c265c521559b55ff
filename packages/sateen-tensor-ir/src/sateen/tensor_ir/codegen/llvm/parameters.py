"""The place of the parameters in a network's library, once they are put into it.

`const void *sateen_parameters(void)` gives them, NULL before an export has put them there. The export writes their
distance from `sateen_parameters_offset` into that symbol, so that nothing is relocated. It is read as volatile, since
otherwise it would be folded as the zero that it is here.
"""

from __future__ import annotations

from sateen.runtime.static_archive import PARAMETER_DATA

PARAMETER_SYMBOLS = ("sateen_parameters", "sateen_parameters_offset")
PARAMETERS_TEXT = """\
@sateen_parameters_offset = protected constant i64 0
define ptr @sateen_parameters() nounwind {
  %offset = load volatile i64, ptr @sateen_parameters_offset
  %absent = icmp eq i64 %offset, 0
  %there = getelementptr i8, ptr @sateen_parameters_offset, i64 %offset
  %place = select i1 %absent, ptr null, ptr %there
  ret ptr %place
}
"""

STATIC_PARAMETERS_TEXT = f"""\
@{PARAMETER_DATA} = external hidden constant i8
define ptr @sateen_parameters() nounwind {{
  ret ptr @{PARAMETER_DATA}
}}
"""
"""The same for a static archive, where another object has the parameters."""
