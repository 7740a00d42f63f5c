/**
 * `npm run release`: publishes the package from a tag, as .github/workflows/release.yml does. With `--dry-run` it packs and checks
 * everything, and publishes nothing: it then runs anywhere, and without a tag.
 *
 * package.json says `private`, so that no checkout is published by accident, and names no repository: what provenance compares
 * with the signed statement is that of the workflow that runs.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The package.json that is published. Throws an Error where the tag is another version's, or the log has no date for it. */
export function released(manifest, { tag, repository, changelog }) {
  const { private: _, ...rest } = manifest;
  if (tag !== `v${rest.version}`)
    throw new Error(`the tag ${tag} is not v${rest.version}, the version of package.json`);
  const heading = new RegExp(`^## \\[${rest.version.replaceAll('.', '\\.')}\\] – \\d{4}-\\d{2}-\\d{2}$`, 'm');
  if (!heading.test(changelog)) throw new Error(`CHANGELOG.md has no date for ${rest.version}`);
  if (rest.publishConfig?.provenance !== true) throw new Error('package.json does not ask for provenance');
  return { ...rest, repository: { type: 'git', url: `git+${repository}.git` } };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const path = fileURLToPath(new URL('../package.json', import.meta.url));
  const before = readFileSync(path, 'utf8');
  const manifest = JSON.parse(before);
  const dryRun = process.argv.includes('--dry-run');
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name, GITHUB_REF_NAME: tag } = process.env;
  if (!dryRun && (!server || !name || !tag)) throw new Error('a release is made by its workflow; here, say --dry-run');
  const changelog = readFileSync(new URL('../CHANGELOG.md', import.meta.url), 'utf8');
  const about = dryRun
    ? { tag: `v${manifest.version}`, repository: 'repository', changelog: `## [${manifest.version}] – 2000-01-01` }
    : { tag, repository: `${server}/${name}`, changelog };
  const options = ['--ignore-scripts=false', ...(dryRun ? ['--dry-run'] : [])];
  try {
    writeFileSync(path, `${JSON.stringify(released(manifest, about), null, 2)}\n`);
    const { status } = spawnSync('npm', ['publish', ...options], { stdio: 'inherit' });
    process.exitCode = status ?? 1;
  } finally {
    writeFileSync(path, before);
  }
}
