"""The code of the guide's page runs."""

import os
import pathlib
import re

import pytest

import lith


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A folder with the files that the page speaks of, in which its code runs."""
    (tmp_path / "dataset" / "train").mkdir(parents=True)
    for number in (1, 2):
        (tmp_path / "dataset" / "train" / f"{number:04}.png").write_bytes(os.urandom(3000))
    (tmp_path / "dataset" / "train" / "labels.csv").write_text("a,b\n")
    (tmp_path / "mounted").mkdir()
    lith.build({"etc/hostname": b"box"}, tmp_path / "rootfs.tar.gz")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_guide(folder: pathlib.Path, repository: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (repository / "docs" / "guide" / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 6
    names: dict[str, object] = {}
    for number, block in enumerate(blocks):
        missing = missing_part(block)
        if missing:
            with capsys.disabled():
                print(f"\nSKIP python: block {number} of the guide: {missing}")
        else:
            exec(compile(block, f"block {number} of python.md", "exec"), names)


def missing_part(block: str) -> str | None:
    """What this machine lacks for a block."""
    for module in re.findall(r"^import (\w+)", block, re.MULTILINE):
        try:
            __import__(module)
        except ImportError:
            return f"no {module}"
    if "lith.mount(" in block and not os.access("/dev/fuse", os.W_OK):
        return "no /dev/fuse"
    return None
