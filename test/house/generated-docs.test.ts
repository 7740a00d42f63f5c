/** How pages with made parts are put together (docs.test.ts holds all generated pages to the code). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { withSections } from '../../cli/docs/sections.ts';
import { signingApiPage } from '../../cli/docs/signing-api.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { reasonCodes } from '../../proto/reason-codes.ts';
import { root } from '../cli/support/up-process.ts';

const signingApiPath = join(root, 'docs/signing-api.md');
const signingApi = readFileSync(signingApiPath, 'utf8');

describe('the generated pages', () => {
  test('a made part that somebody edited is found', () => {
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
