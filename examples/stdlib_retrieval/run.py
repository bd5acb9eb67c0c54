"""Find a standard-library function from the first line of its docstring, with three retrieval systems.

    python examples/stdlib_retrieval/run.py --out DIR

Query: the docstring's first line. Documents: every public function, method and class of the modules
below, as its name and its source without docstrings and comments. A system ranks all documents for
each query; what counts is the rank of the documented object itself. Nothing is downloaded or drawn at
random: the same Python gives the same files.
"""

from __future__ import annotations

import argparse
import ast
import csv
import hashlib
import re
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

MODULES = """
abc argparse ast asyncio base64 bdb bisect bz2 cProfile calendar cmd code codecs codeop collections
compileall concurrent configparser contextlib copy copyreg csv ctypes curses dataclasses datetime dbm
difflib dis doctest email enum filecmp fileinput fnmatch fractions ftplib functools genericpath getopt
getpass gettext glob graphlib gzip hashlib heapq hmac html http imaplib importlib inspect ipaddress json
linecache locale logging lzma mailbox mimetypes modulefinder multiprocessing netrc ntpath nturl2path
numbers operator optparse os pathlib pdb pickle pickletools pkgutil platform plistlib poplib posixpath
pprint profile pstats pty py_compile pyclbr pydoc queue quopri random re reprlib rlcompleter runpy sched
secrets selectors shelve shlex shutil site smtplib socket socketserver ssl stat statistics string
subprocess symtable sysconfig tabnanny tarfile tempfile textwrap threading timeit tokenize trace
traceback tracemalloc tty types typing unittest urllib uuid venv warnings wave weakref webbrowser wsgiref
xml xmlrpc zipapp zipfile zipimport
"""
"""Pure-Python modules and packages that CPython 3.11, 3.12 and 3.13 all have."""

LEAST_WORDS = 3
"""A docstring's first line with fewer words is no query."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Tokens = Callable[[str], Iterable[str]]
Matrix = sparse.csr_array


@dataclass(frozen=True, slots=True)
class Item:
    """One documented object: `json.decoder.JSONDecoder.decode` in cluster `json`."""

    item_id: str
    module: str
    query: str
    document: str

    @property
    def cluster(self) -> str:
        """The top-level module: its functions share authors, words and habits."""
        return self.module.split(".", 1)[0]


def corpus(library: Path, modules: Iterable[str]) -> list[Item]:
    """Every item whose first docstring line no other item shares, by item id."""
    found = {item.item_id: item for name in modules for item in _items_of_module(library, name)}
    uses = Counter(item.query.lower() for item in found.values())
    return [found[key] for key in sorted(found) if uses[found[key].query.lower()] == 1]


def _items_of_module(library: Path, name: str) -> Iterator[Item]:
    package = library / name
    paths = sorted(package.rglob("*.py")) if package.is_dir() else [library / f"{name}.py"]
    for path in paths:
        parts = path.relative_to(library).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if not any(part.startswith("_") or part in ("test", "tests") for part in parts):
            yield from _items(ast.parse(path.read_bytes()), ".".join(parts), ".".join(parts))


def _items(parent: ast.AST, path: str, module: str) -> Iterator[Item]:
    for node in ast.iter_child_nodes(parent):
        if not isinstance(node, Definition) or node.name.startswith("_"):
            continue
        here = f"{path}.{node.name}"
        query = (ast.get_docstring(node) or "").strip().partition("\n")[0].strip()
        if len(query.split()) >= LEAST_WORDS and not query.startswith(">>>"):
            yield Item(here, module, query, f"{here} {_source(node)}")
        if isinstance(node, ast.ClassDef):
            yield from _items(node, here, module)


def _source(node: Definition) -> str:
    """What the object is called and does: of a class the bases and the names it defines, else the code."""
    if isinstance(node, ast.ClassDef):
        names = [child.name for child in node.body if isinstance(child, Definition)]
        return " ".join([node.name, *map(ast.unparse, node.bases), *names])
    code = ast.parse(ast.unparse(node))  # a copy: the caller's tree keeps its docstrings
    for inner in ast.walk(code):
        if isinstance(inner, Definition) and ast.get_docstring(inner) is not None:
            inner.body = inner.body[1:] or [ast.Pass()]
    return ast.unparse(code)


def words(text: str) -> list[str]:
    """Lower-case words; `snake_case` and `camelCase` names fall into theirs."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", text)]


def char_ngrams(text: str) -> list[str]:
    """All 3-, 4- and 5-grams within each word, its two borders marked."""
    grams = []
    for word in words(text):
        marked = f"<{word}>"
        grams += [marked[i : i + n] for n in (3, 4, 5) for i in range(len(marked) - n + 1)]
    return grams


def counts(texts: list[str], tokens: Tokens, vocabulary: dict[str, int], *, grow: bool) -> Matrix:
    """How often each token occurs in each text, shape (texts, vocabulary)."""
    rows: list[int] = []
    columns: list[int] = []
    values: list[int] = []
    for row, text in enumerate(texts):
        for token, count in Counter(tokens(text)).items():
            column = vocabulary.setdefault(token, len(vocabulary)) if grow else vocabulary.get(token)
            if column is not None:
                rows.append(row)
                columns.append(column)
                values.append(count)
    shape = (len(texts), len(vocabulary))
    return sparse.csr_array((np.asarray(values, dtype=np.float64), (rows, columns)), shape=shape)


def tf_idf_scores(items: list[Item], tokens: Tokens) -> NDArray[np.float64]:
    """Cosine of log-tf × idf vectors, shape (queries, documents)."""
    vocabulary: dict[str, int] = {}
    documents = counts([item.document for item in items], tokens, vocabulary, grow=True)
    queries = counts([item.query for item in items], tokens, vocabulary, grow=False)
    spread = np.bincount(documents.indices, minlength=len(vocabulary))
    idf = np.log((1 + len(items)) / (1 + spread)) + 1

    def weighted(matrix: Matrix) -> Matrix:
        matrix.data = (1 + np.log(matrix.data)) * idf[matrix.indices]
        norms = np.sqrt(matrix.multiply(matrix).sum(axis=1))
        matrix.data /= np.repeat(norms, np.diff(matrix.indptr))
        return matrix

    return np.asarray((weighted(queries) @ weighted(documents).T).todense())


def bm25_scores(items: list[Item], *, k1: float = 1.2, b: float = 0.75) -> NDArray[np.float64]:
    """Okapi BM25 over words (Robertson & Zaragoza 2009), shape (queries, documents)."""
    vocabulary: dict[str, int] = {}
    documents = counts([item.document for item in items], words, vocabulary, grow=True)
    queries = counts([item.query for item in items], words, vocabulary, grow=False)
    spread = np.bincount(documents.indices, minlength=len(vocabulary))
    idf = np.log(1 + (len(items) - spread + 0.5) / (spread + 0.5))
    lengths = documents.sum(axis=1)
    room = np.repeat(k1 * (1 - b + b * lengths / lengths.mean()), np.diff(documents.indptr))
    documents.data = idf[documents.indices] * documents.data * (k1 + 1) / (documents.data + room)
    return np.asarray((queries @ documents.T).todense())


def ranks(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Rank of each query's own document; a tie counts against it, scores compare to 1e-9."""
    rounded = np.round(scores, 9)
    return np.asarray((rounded >= np.diag(rounded)[:, None]).sum(axis=1))


SYSTEMS: dict[str, Callable[[list[Item]], NDArray[np.float64]]] = {
    "words": lambda items: tf_idf_scores(items, words),
    "char_ngrams": lambda items: tf_idf_scores(items, char_ngrams),
    "bm25": bm25_scores,
}


def one_per_module(items: list[Item]) -> list[Item]:
    """One item of every module, the one whose id has the least SHA-256."""
    chosen: dict[str, Item] = {}
    for item in sorted(items, key=lambda item: hashlib.sha256(item.item_id.encode()).hexdigest()):
        chosen.setdefault(item.module, item)
    return sorted(chosen.values(), key=lambda item: item.item_id)


def write(folder: Path, items: list[Item], found: dict[str, dict[str, int]], *, clustered: bool) -> None:
    """`items.csv` (the manifest) and `results.csv` (hit and reciprocal rank, four decimals, per system)."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "items.csv").open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["item_id", "cluster"] if clustered else ["item_id"])
        table.writerows([item.item_id, item.cluster] if clustered else [item.item_id] for item in items)
    with (folder / "results.csv").open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(
            ["item_id", *(f"{name}.{what}" for name in SYSTEMS for what in ("hit", "reciprocal_rank"))]
        )
        for item in items:
            row: list[str | int] = [item.item_id]
            for system in SYSTEMS:
                rank = found[system][item.item_id]
                row += [int(rank == 1), f"{1 / rank:.4f}".rstrip("0").rstrip(".")]
            table.writerow(row)


def main(arguments: list[str] | None = None) -> None:
    """Run the evaluation and write both populations."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="folder to write to")
    parser.add_argument("--modules", nargs="+", default=MODULES.split(), help="modules (default: all)")
    options = parser.parse_args(arguments)
    items = corpus(Path(sysconfig.get_paths()["stdlib"]), options.modules)
    ids = [item.item_id for item in items]
    found = {
        name: dict(zip(ids, ranks(score(items)).tolist(), strict=True)) for name, score in SYSTEMS.items()
    }
    write(options.out / "stdlib", items, found, clustered=True)
    write(options.out / "one_per_module", one_per_module(items), found, clustered=False)
    print(f"{len(items)} items in {len({item.cluster for item in items})} modules, {len(SYSTEMS)} systems")


if __name__ == "__main__":
    main()
