/**
 * `npm run release`: publishes the package from a tag, as .github/workflows/release.yml does. With `--dry-run` it packs and checks
 * everything, and publishes nothing: it then runs anywhere, and without a tag.
 *
 * package.json says `private`, so that no checkout is published by accident: what is published is the folder that
 * tools/package.mjs makes. It names the repository of the workflow that runs, with which provenance compares.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The package.json that is published. Throws an Error where the tag is another version's, or the log has no date for it. */
export function released(manifest, { tag, repository, changelog }) {
  const { version, publishConfig } = manifest;
  if (tag !== `v${version}`) throw new Error(`the tag ${tag} is not v${version}, the version of package.json`);
  const heading = new RegExp(`^## \\[${version.replaceAll('.', '\\.')}\\] – \\d{4}-\\d{2}-\\d{2}$`, 'm');
  if (!heading.test(changelog)) throw new Error(`CHANGELOG.md has no date for ${version}`);
  if (publishConfig?.provenance !== true) throw new Error('package.json does not ask for provenance');
  return { ...manifest, repository: { type: 'git', url: `git+${repository}.git` } };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const folder = join(root, '.setup', 'package');
  const run = (program, ...args) => {
    const { status } = spawnSync(program, args, { cwd: root, stdio: 'inherit' });
    if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed`);
  };
  const dryRun = process.argv.includes('--dry-run');
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name, GITHUB_REF_NAME: tag } = process.env;
  if (!dryRun && (!server || !name || !tag)) throw new Error('a release is made by its workflow; here, say --dry-run');
  run(process.execPath, 'cli/signmesh.mjs', '--version');
  run(process.execPath, 'tools/package.mjs', folder);
  const file = join(folder, 'package.json');
  const manifest = JSON.parse(readFileSync(file, 'utf8'));
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
  const about = dryRun
    ? { tag: `v${manifest.version}`, repository: 'repository', changelog: `## [${manifest.version}] – 2000-01-01` }
    : { tag, repository: `${server}/${name}`, changelog };
  writeFileSync(file, `${JSON.stringify(released(manifest, about), null, 2)}\n`);
  run('npm', 'publish', folder, ...(dryRun ? ['--dry-run'] : []));
}
