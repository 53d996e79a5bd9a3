#!/bin/sh
# The browser of the tests of pages. `install` brings Debian's chromium where this is Debian and we
# are root, else says how; it never fails. `needed` prints 1 where the tests must not be skipped: in
# CI, and wherever `install` could bring it.

found() {
	command -v chromium >/dev/null || command -v chromium-browser >/dev/null
}

can_install() {
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && grep -q '^ID=debian' /etc/os-release
}

install() {
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq &&
		apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
}

case "$1" in
install)
	found && exit 0
	if can_install; then
		echo "Installing chromium, for the tests of pages."
		install && exit 0
	fi
	echo "No chromium: the tests of pages need it (Debian: apt-get install chromium; elsewhere: .venv/bin/playwright install chromium)."
	;;
needed)
	if [ -n "$CI" ] || { can_install 2>/dev/null; }; then echo 1; fi
	;;
esac
exit 0
