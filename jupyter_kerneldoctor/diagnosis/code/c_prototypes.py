"""What the functions of C that the cells themselves write take and return, as ctypes calls it."""

import re
from functools import cache
from typing import NamedTuple

from .notebook import Notebook, once

LONGEST = 50_000  # characters of a cell
FUNCTION = re.compile(
    r"^[ \t]*(?:extern[ \t]+(?:\"C\"[ \t]+)?)?(?P<type>\w[\w \t]{0,60}?[ \t*]+)(?P<name>\w{1,80})[ \t]*"
    r"\((?P<arguments>[^(){};]{0,600})\)\s*\{",
    re.MULTILINE,
)
_TYPES = {
    **{name: f"ctypes.c_{name}" for name in ("int", "long", "short", "float", "double", "char", "bool", "size_t")},
    **{f"{sign}int{bits}_t": f"ctypes.c_{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "unsigned": "ctypes.c_uint",
    "unsigned int": "ctypes.c_uint",
    "unsigned long": "ctypes.c_ulong",
    "unsigned char": "ctypes.c_ubyte",
    "long long": "ctypes.c_longlong",
    "ssize_t": "ctypes.c_ssize_t",
    "void": "None",
}
_QUALIFIERS = re.compile(r"\b(?:const|static|inline|struct|volatile|restrict|__restrict)\b")
_NAME = re.compile(r"\b\w{1,80}\s{0,9}(?:\[\s{0,9}\w{0,80}\s{0,9}\])?$")


_C_LIBRARY = """
FILE *fopen(const char *path, const char *mode)
FILE *popen(const char *command, const char *mode)
int fclose(FILE *file)
int pclose(FILE *file)
int fflush(FILE *file)
int fputs(const char *text, FILE *file)
int fputc(int c, FILE *file)
int fgetc(FILE *file)
char *fgets(char *line, int size, FILE *file)
size_t fread(void *to, size_t size, size_t count, FILE *file)
size_t fwrite(const void *from, size_t size, size_t count, FILE *file)
int fseek(FILE *file, long offset, int whence)
long ftell(FILE *file)
void *malloc(size_t size)
void *calloc(size_t count, size_t size)
void *realloc(void *p, size_t size)
void free(void *p)
char *strdup(const char *text)
char *strchr(const char *text, int c)
char *strrchr(const char *text, int c)
char *strstr(const char *text, const char *part)
char *strtok(char *text, const char *ends)
size_t strlen(const char *text)
int strcmp(const char *one, const char *other)
char *strcpy(char *to, const char *from)
char *strncpy(char *to, const char *from, size_t size)
void *memcpy(void *to, const void *from, size_t size)
void *memmove(void *to, const void *from, size_t size)
void *memset(void *to, int c, size_t size)
void *memchr(const void *in, int c, size_t size)
int puts(const char *text)
char *getenv(const char *name)
char *realpath(const char *path, char *to)
void *opendir(const char *path)
void *readdir(void *directory)
int closedir(void *directory)
void *dlopen(const char *path, int flags)
void *dlsym(void *library, const char *name)
struct tm *localtime(const long *time)
struct tm *gmtime(const long *time)
char *asctime(const struct tm *time)
char *ctime(const long *time)
"""
"""As in the manual pages, fopen(3) and so on."""


class Prototype(NamedTuple):
    """What a function of C takes and returns."""

    result: str
    """`ctypes.c_void_p` for a pointer, `None` for nothing."""
    arguments: tuple[str, ...]
    pointers: tuple[str, ...]
    """By argument, the type that a pointer points to, `double`; "" for what is no pointer."""


@once
def prototypes(code: Notebook) -> dict[str, Prototype]:
    """Return what is known of the C functions that are written in the cells, by name."""
    found = dict[str, Prototype]()
    for at in code.with_text("{"):
        source = code.source(at)
        if "ctypes" not in source and not re.search(r"\.c(?:c|pp)?\b|#include", source):
            continue
        code.spend(len(source) / 5)
        found = {**_read(source[:LONGEST]), **found}
    return found


@cache
def c_library() -> dict[str, Prototype]:
    """Return what functions of the C library take and return, as far as they are known here, by name.

    All pointers are `ctypes.c_void_p`, which takes texts of bytes and addresses alike.
    """
    found = _read(re.sub(r"$", " {", _C_LIBRARY.strip(), flags=re.MULTILINE))
    return {
        name: one._replace(arguments=tuple(part.replace("char_p", "void_p") for part in one.arguments))
        for name, one in found.items()
    }


def _read(source: str) -> dict[str, Prototype]:
    found = dict[str, Prototype]()
    for one in FUNCTION.finditer(source):
        given = [part.strip() for part in one["arguments"].split(",") if part.strip() not in ("", "void")]
        result, arguments = _type_of(one["type"]), [_type_of(_NAME.sub(_as_pointer, part)) for part in given]
        if result is not None and None not in arguments:
            known = tuple(filter(None, arguments))
            found.setdefault(one["name"], Prototype(result, known, tuple(map(_pointee, given))))
    return found


def _as_pointer(name: re.Match[str]) -> str:
    return "*" if name[0].endswith("]") else ""


def _type_of(text: str) -> str | None:
    """Return what ctypes calls a type of C; None where it is neither a number nor a pointer."""
    plain = " ".join(_QUALIFIERS.sub("", text).split())
    if "*" in plain:
        return "ctypes.c_char_p" if "const" in text and re.fullmatch(r"char ?\*", plain) else "ctypes.c_void_p"
    return _TYPES.get(plain)


def _pointee(argument: str) -> str:
    found = re.match(r"([\w \t]{1,90}?)[ \t]{0,9}(?:\*|\w{1,80}\s{0,9}\[)", _QUALIFIERS.sub("", argument).strip())
    return "" if found is None else found[1]
