#!/bin/sh
# Says in one sentence what is missing, before anything is built: prerequisites.sh PYTHON
least=$(sed -n 's/^requires-python = ">=\([0-9.]*\).*/\1/p' pyproject.toml)
found=$("$1" -c 'import platform; print(platform.python_version())' 2>/dev/null)
if ! "$1" -c "import sys; sys.exit(sys.version_info < (${least%.*}, ${least#*.}))" 2>/dev/null; then
  echo "Python $least or newer is needed, and \`$1\` is ${found:-not there}: install one and name it, as in \`make demo PYTHON=python$least\`." >&2
  exit 1
fi
if ! "$1" -c 'import ensurepip' 2>/dev/null; then
  echo "\`$1\` cannot make an environment: on Debian and Ubuntu install what is missing with \`sudo apt install python3-venv\`." >&2
  exit 1
fi
found=$(node --version 2>/dev/null)
major=${found#v}
if [ "${major%%.*}" -lt 20 ] 2>/dev/null || [ -z "$found" ]; then
  echo "Node 20 or newer is needed to build the panel, and \`node\` is ${found:-not there}: install it from nodejs.org, or with \`conda install nodejs\`." >&2
  exit 1
fi
