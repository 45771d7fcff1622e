#!/bin/sh
# Makes docs/terminal.svg, the picture of the README: runs the commands that it shows and draws what they print.
#
#   sudo docs/terminal.sh target/release/lith /srv/debian > docs/terminal.svg
set -eu
lith=$(realpath "$1") tree=$(realpath -s "$2")
work=$(mktemp -d)
trap 'umount "$work/mnt" 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/mnt"
ln -s "$lith" "$work/bin/lith"
cd "$work"
PATH=$work/bin:$PATH

show() {
    printf '$ %s\n' "$*"
    # Programs are not at a terminal here, so ls is told its columns; sudo is for readers.
    eval "$(printf '%s' "$*" | sed "s|sudo ||; s|/mnt|$work/mnt|g; s|&& ls|\&\& ls -C -T0 -w 104|")" 2>&1
}

session() {
    show "lith build $tree rootfs.erofs | head -3"
    show "sudo mount rootfs.erofs /mnt && ls /mnt"
    show "lith check rootfs.erofs"
    show "lith map rootfs.erofs /usr/bin/bash | head -4"
    show "lith diff $tree rootfs.erofs && echo no difference"
}

session >lines
height=$(($(wc -l <lines) * 19 + 30))
cat <<END
<svg xmlns="http://www.w3.org/2000/svg" width="860" height="$height" viewBox="0 0 860 $height" role="img"><title>A terminal: lith build, mount, check, map, diff</title>
<rect width="860" height="$height" rx="8" fill="#1c2128"/>
<g font-family="ui-monospace,Menlo,Consolas,monospace" font-size="13.5" fill="#cdd9e5">
END
# Browsers set white-space on each text, so that xml:space on the group has no effect.
sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g' lines | awk '{
    colour = /^\$ / ? " fill=\"#6cb6ff\"" : ""
    printf "<text xml:space=\"preserve\" x=\"18\" y=\"%d\"%s>%s</text>\n", 11 + 19 * NR, colour, $0
}'
echo '</g></svg>'
