#!/bin/sh
# axe-core, which the tests of pages use beside our own rules: brought by npm into the folder that is
# named. It never fails; where there is no npm, the tests that need it are skipped, and say so.

if [ -f "$1/node_modules/axe-core/axe.min.js" ]; then
	exit 0
elif ! command -v npm >/dev/null; then
	echo "No npm: the tests that need axe-core are skipped (Debian: apt-get install npm)."
else
	npm install --silent --no-audit --no-fund --prefix "$1" axe-core@4.10.3 ||
		echo "axe-core could not be installed: the tests that need it are skipped."
fi
exit 0
