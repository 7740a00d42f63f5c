/** How pages with made parts are put together (docs.test.ts holds all generated pages to the code). */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { reasonCodes } from '../../proto/reason-codes.ts';
import { subStatusTexts } from '../../proto/sub-statuses.ts';
import { issueTexts } from '../../tools/docs/issues.ts';
import { restRoutes } from '../../tools/docs/rest-routes.ts';
import { withSections } from '../../tools/docs/sections.ts';
import { signingApiPage } from '../../tools/docs/signing-api.ts';
import { walletApiPage } from '../../tools/docs/wallet-api.ts';
import { root } from '../cli/support/up-process.ts';

const signingApiPath = join(root, 'docs/signing-api.md');
const signingApi = readFileSync(signingApiPath, 'utf8');
const walletApi = readFileSync(join(root, 'docs/wallet-api.md'), 'utf8');

describe('the generated pages', () => {
  test('a generated part that was edited by hand is found', () => {
    for (const said of [
      '`DUPLICATE_INTENT`, `DUPLICATE_SHARE`',
      'ACCEPTED --> BACKEND_COMPLETED',
      '15 min',
      '`signing:share`',
    ]) {
      const edited = signingApi.replace(said, 'edited');
      expect(edited).not.toBe(signingApi);
      expect(signingApiPage(edited), said).toBe(signingApi);
    }
  });

  test('a part without a place, and a place without a part, are found', () => {
    const page = 'a\n<!-- generated: one -->\nold\n<!-- end -->\nb\n';
    expect(withSections(page, new Map([['one', 'new\n']]))).toBe(page.replace('old', 'new'));
    expect(() => withSections(page, new Map())).toThrow('"one"');
    expect(() => withSections('', new Map([['one', 'new']]))).toThrow('no place for one');
  });

  test('every state and every reason code is on the page of the API', () => {
    const words = [
      ...Object.values(ReceiptState).filter((name) => typeof name === 'string'),
      ...Object.keys(reasonCodes),
    ];
    for (const word of words) if (word !== 'UNSPECIFIED') expect(signingApi).toContain(word);
  });
});

describe('docs/wallet-api.md', () => {
  test('a generated part that was edited by hand is found', () => {
    for (const said of [
      '| `POST /v1/wallets` |',
      'pending_approval --> approved',
      '| `0.004221` |',
      '`external_id`',
      '| `wallet.archived` |',
      '| `open_intents` |',
      'risk.score >= 70',
      '`fireblocks`',
    ]) {
      const at = walletApi.indexOf(said);
      expect(at, said).toBeGreaterThan(0);
      const start = walletApi.lastIndexOf('<!-- generated', at);
      expect(start, said).toBeGreaterThan(walletApi.lastIndexOf('<!-- end', at));
      const edited = `${walletApi.slice(0, at)}edited${walletApi.slice(at + said.length)}`;
      expect(walletApiPage(edited), said).toBe(walletApi);
    }
  });

  test('shows the routes of every module that the gateway serves', () => {
    const served = readFileSync(join(root, 'gateway/wallet-api.ts'), 'utf8');
    const shown = readFileSync(join(root, 'tools/docs/rest-routes.ts'), 'utf8');
    // The sandbox's own have a page of their own.
    const modules = (text: string) =>
      [...text.matchAll(/\.\.\.(?!sandboxRoutes)(\w+Routes)\(/g)].map(([, name]) => name!).sort();
    expect(modules(shown)).toEqual(modules(served));
    const signingApi = readFileSync(join(root, 'docs/signing-api.md'), 'utf8');
    for (const { method, path, tag } of restRoutes()) {
      expect(tag === 'Signing' ? signingApi : walletApi).toContain(`| \`${method} ${path}\` |`);
    }
  });

  test('explains every issue that the code names, and no other', () => {
    const code = ['wallets', 'gateway']
      .flatMap((room) =>
        readdirSync(join(root, room), { recursive: true, encoding: 'utf8' }).map((file) => join(room, file)),
      )
      .filter((file) => file.endsWith('.ts'))
      .map((file) => readFileSync(join(root, file), 'utf8'))
      .join('\n');
    const named = new Set(
      [...code.matchAll(/\b(?:issue: |refusal\()'([a-z_]+)'|throw refusal\([^;]*?, '([a-z_]+)'\);/g)].map(
        ([, issue, last]) => (issue ?? last)!,
      ),
    );
    expect([...named]).toEqual(expect.arrayContaining(['open_intents', 'changed_since', 'own_plan']));
    expect([...named].filter((issue) => !Object.hasOwn(issueTexts, issue))).toEqual([]);
    const words = [...Object.keys(issueTexts), ...Object.keys(subStatusTexts)];
    expect(words.filter((word) => !code.includes(`'${word}'`))).toEqual([]);
  });
});
