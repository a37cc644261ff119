"""The guide to checking one's own parts is executed, and prints what it says."""

from __future__ import annotations

import io
import linecache
import re
from contextlib import redirect_stdout
from pathlib import Path

GUIDE = Path(__file__).parent.parent / "docs" / "check-your-own.md"


def test_the_guide_prints_what_it_says() -> None:
    """All blocks in order, as one program; each text block is what the code before it prints."""
    namespace: dict[str, object] = {"__name__": "check_your_own"}
    printed = ""
    found = re.findall(r"```(python|text)\n(.*?)```", GUIDE.read_text(), flags=re.DOTALL)
    for number, (language, block) in enumerate(found):
        if language == "text":
            assert printed == block
            printed = ""
            continue
        assert not printed, f"the page does not show what is printed before block {number}"
        name = f"check_your_own_{number}.py"
        linecache.cache[name] = (len(block), None, block.splitlines(keepends=True), name)
        output = io.StringIO()
        with redirect_stdout(output):
            exec(compile(block, name, "exec", dont_inherit=True), namespace)
        printed = output.getvalue()
    assert not printed
