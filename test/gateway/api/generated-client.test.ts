/**
 * The OpenAPI document in the hands of independent tools, installed in a project of their own: a linter
 * finds nothing, and a generated TypeScript client compiles strictly and makes a transfer at a real sandbox. It installs them: in a thorough run alone.
 */
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { keptFolder } from '../../cli/support/temporary.ts';
import { run } from '../../clients/testing/support/installed-package.ts';
import { type SharedCluster, sharedCluster } from '../../support/shared-cluster.ts';
import { isThorough } from '../../support/thorough.ts';

/** @redocly/openapi-core comes with the generator. TypeScript 5: the generator does not work with 7. */
const tools = ['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', 'typescript@5.9.3', '@types/node@20.19.43'];
const lint = `
import { createConfig, lint } from '@redocly/openapi-core';
const config = await createConfig({ extends: ['recommended'] });
const problems = await lint({ ref: 'openapi.json', config });
for (const { severity, ruleId, message, location } of problems) console.log(severity, ruleId, message, location[0]?.pointer);
`;

const folder = keptFolder();
let cluster: SharedCluster;
beforeAll(async () => {
  if (!isThorough) return;
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'client', private: true, type: 'module' }));
  const installing = run(folder, 'npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', ...tools]);
  cluster = await sharedCluster();
  const document = await fetch(`${cluster.httpUrl}/v1/openapi.json`);
  writeFileSync(join(folder, 'openapi.json'), await document.text());
  writeFileSync(join(folder, 'lint.mjs'), lint);
  // Not named .ts here, where its types do not exist.
  const source = join(dirname(fileURLToPath(import.meta.url)), 'client', 'transfer.txt');
  cpSync(source, join(folder, 'transfer.ts'));
  const { exitCode, stdout, stderr } = await installing;
  expect(exitCode, `${stdout}\n${stderr}`).toBe(0);
});
afterAll(async () => {
  await cluster?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test.runIf(isThorough)('a linter with its recommended rules finds nothing', async () => {
  expect(await run(folder, process.execPath, ['lint.mjs'])).toEqual({ exitCode: 0, stdout: '', stderr: '' });
});

test.runIf(isThorough)('a generated client compiles strictly and makes a transfer', async () => {
  const generated = await run(folder, 'npx', ['openapi-typescript', 'openapi.json', '-o', 'api.ts']);
  expect(generated.exitCode, generated.stderr).toBe(0);
  const settings = ['--strict', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2023,dom', '--outDir', 'out'];
  const compiled = await run(folder, process.execPath, [
    'node_modules/typescript/bin/tsc',
    ...settings,
    ...['--types', 'node', 'transfer.ts'],
  ]);
  expect(compiled).toEqual({ exitCode: 0, stdout: '', stderr: '' });
  const { exitCode, stdout, stderr } = await run(folder, process.execPath, [
    'out/transfer.js',
    cluster.httpUrl,
    // A tenant of its own: its list of wallets is its own.
    'svc_sk_test_generatedClient',
  ]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(JSON.parse(stdout)).toEqual({ status: 'completed', names: ['treasury'], amounts: ['0.25'] });
});
