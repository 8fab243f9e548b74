#!/usr/bin/env bash
# Makes a Debian package from a build, for the distribution and the architecture of this machine.
#   scripts/package/deb.sh [BUILD_FOLDER]
# It is .build/package/signalbox_VERSION_ARCHITECTURE.deb.
set -euo pipefail
cd "$(dirname "$0")/../.."
fail() { printf 'deb: %s\n' "$*" >&2; exit 1; }
command -v dpkg-shlibdeps >/dev/null || fail "dpkg-dev is not installed; run scripts/setup.sh package"

build=${1:-.build/release}
out=.build/package
root=$out/deb
rm -rf "$root"
mkdir -p "$root/DEBIAN" "$root/etc/signalbox/secrets" "$root/usr/lib/systemd/system"
scripts/install.sh "$root/usr" "$build"
version=$(sed -n 's/^Version: //p' "$root/usr/lib/pkgconfig/signalbox.pc")
architecture=$(dpkg --print-architecture)

for unit in signalbox.service signalbox.socket; do
  sed 's|/usr/local/bin/|/usr/bin/|' "deploy/systemd/$unit" > "$root/usr/lib/systemd/system/$unit"
done
sed 's|^gateway:$|&\n  data: /var/lib/signalbox|' gateway.yaml > "$root/etc/signalbox/gateway.yaml"
grep -q '^  data: /var/lib/signalbox$' "$root/etc/signalbox/gateway.yaml" || fail "gateway.yaml has no line \"gateway:\""
cp deploy/environment "$root/etc/signalbox/environment"

# Where Debian's zsh looks.
mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions"
doc=$root/usr/share/doc/signalbox
{
  printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\n'
  printf 'Files: *\nCopyright: 2026 the authors of Signalbox\nLicense: Apache-2.0\n'
  printf ' /usr/share/common-licenses/Apache-2.0 has the text.\n\n'
  printf 'Files: usr/lib/signalbox/runtime/*\nCopyright: 2014-2026 Apple Inc. and the Swift project authors\n'
  printf 'License: Apache-2.0 with Swift exception\n See https://swift.org/LICENSE.txt\n'
} > "$doc/copyright"
maintainer=${DEB_MAINTAINER:-Signalbox maintainers <maintainers@signalbox.invalid>}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
printf 'signalbox (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md.gz.\n\n -- %s  %s\n' \
  "$version" "$maintainer" "$(date -Ru "-d@$SOURCE_DATE_EPOCH")" | gzip -9n > "$doc/changelog.gz"
gzip -9n < CHANGELOG.md > "$doc/CHANGELOG.md.gz"
gzip -9nf "$root/usr/share/man/man1/signalbox.1"

# What the program, the library, the plugins and the Swift runtime need of the distribution. Their needs of each other
# are met by the package itself.
mapfile -t files < <(find "$root/usr" -type f \( -name '*.so' -o -name '*.so.[0-9]*' -o -path '*/bin/*' \))
mkdir -p "$out/shlibdeps/debian"
printf 'Source: signalbox\n\nPackage: signalbox\nArchitecture: any\n' > "$out/shlibdeps/debian/control"
depends=$(
  cd "$out/shlibdeps"
  dpkg-shlibdeps -O --ignore-missing-info --warnings=0 \
    "-l../deb/usr/lib/signalbox/runtime" "-l../deb/usr/lib" "${files[@]/#$out\//../}" \
    2> >(grep -v "can't extract name and version" >&2)
)
depends=${depends#shlibs:Depends=}

find "$root" -type d -exec chmod 755 {} +
find "$root/usr" "$root/etc" -type f ! -perm -u+x -exec chmod 644 {} +
find "$root/usr/lib" -type f -exec chmod 644 {} +
chmod 750 "$root/etc/signalbox" "$root/etc/signalbox/secrets"
chmod 640 "$root"/etc/signalbox/{gateway.yaml,environment}
install -m 755 deploy/debian/{postinst,prerm,postrm} "$root/DEBIAN/"
# For programs that link the library.
printf 'activate-noawait ldconfig\n' > "$root/DEBIAN/triggers"
printf 'libsignalbox 1 signalbox (>= %s)\n' "$version" > "$root/DEBIAN/shlibs"
printf '/etc/signalbox/%s\n' gateway.yaml environment > "$root/DEBIAN/conffiles"
sed -e "s|@VERSION@|$version|" -e "s|@ARCHITECTURE@|$architecture|" -e "s|@DEPENDS@|$depends|" \
  -e "s|@SIZE@|$(du -sk --apparent-size "$root/usr" | cut -f1)|" \
  -e "s|@MAINTAINER@|$maintainer|" \
  deploy/debian/control.in > "$root/DEBIAN/control"
(cd "$root" && find usr etc -type f ! -path 'etc/*' -print0 | sort -z | xargs -0 md5sum > DEBIAN/md5sums)

deb=$out/signalbox_${version}_$architecture.deb
dpkg-deb --root-owner-group "-Z${DEB_COMPRESSION:-xz}" --build "$root" "$deb" >/dev/null
printf 'deb: %s\n' "$deb"
