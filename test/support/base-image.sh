#!/bin/sh
# Packs the programs of this machine that our containers need into a tar: node, npm, redis-server, redis-cli and a shell.
# For machines that cannot pull base images. Usage: base-image.sh OUT.tar
set -e
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/bin" "$root/usr/bin" "$root/usr/lib/node_modules" "$root/usr/etc" "$root/etc/ssl/certs" "$root/root" "$root/home/node" \
  "$root/proc" "$root/sys" "$root/dev" "$root/run" "$root/tmp" "$root/var/tmp"
# mktemp makes a folder for its owner alone; in the image it is the root, which every user passes.
chmod 755 "$root"
chmod 1777 "$root/tmp" "$root/var/tmp"
for name in sh mkdir chown ls cat env sleep id node redis-server redis-cli; do
  file=$(readlink -f "$(command -v "$name")")
  cp "$file" "$root/usr/bin/$name"
  for library in $(ldd "$file" | grep -oE '/[^ ]+'); do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
  done
done
ln -s /usr/bin/sh "$root/bin/sh"
npm=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
cp -r "$npm" "$root/usr/lib/node_modules/npm"
printf '#!/usr/bin/sh\nexec /usr/bin/node /usr/lib/node_modules/npm/bin/npm-cli.js "$@"\n' > "$root/usr/bin/npm"
chmod +x "$root/usr/bin/npm"
# The builder's own settings of npm, so that it finds the packages where this machine does.
for settings in /usr/etc/npmrc /root/.npmrc; do
  if [ -f "$settings" ]; then cp "$settings" "$root$settings"; fi
done
if [ -f /etc/ssl/certs/ca-certificates.crt ]; then cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"; fi
printf 'root:x:0:0:root:/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n' > "$root/etc/passwd"
printf 'root:x:0:\nnode:x:1000:\n' > "$root/etc/group"
tar -C "$root" -cf "$1" .
