/** The demo: its drawing, and the whole thing as a person runs it. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { Diagram, rowsOf } from '../../cli/demo/diagram.ts';
import { isThorough } from '../support/thorough.ts';

const command = fileURLToPath(new URL('../../cli/signmesh.mjs', import.meta.url));

describe('the diagram', () => {
  test('draws what goes to several nodes in one row, and what comes back in another', () => {
    const rows = rowsOf([
      { from: 'signing/t/s', to: 'node/1', case: 'partialRequest' },
      { from: 'signing/t/s', to: 'node/3', case: 'partialRequest' },
      { from: 'node/3', to: 'signing/t/s', case: 'partialReply' },
      { from: 'node/1', to: 'signing/t/s', case: 'partialReply' },
    ]);
    expect(rows.map(({ from, to }) => ({ from, to }))).toEqual([
      { from: ['coordinator'], to: ['node/1', 'node/3'] },
      { from: ['node/1', 'node/3'], to: ['coordinator'] },
    ]);
    const diagram = new Diagram(3);
    expect(diagram.header()).toMatch(/client +gateway +coordinator +n1 +n2 +n3/);
    expect(diagram.row(rows[0]!)).toMatch(/├─+▶─+┼─+▶ /);
    expect(diagram.row(rows[1]!)).toMatch(/◀─+●─+┼─+● /);
  });
});

describe('signmesh demo', () => {
  test.runIf(isThorough)('makes two keys and two signatures that an independent library verifies', async () => {
    // Its nodes share a process, which starts in half the time.
    const env = { ...process.env, SIGNMESH_NODES_PER_PROCESS: '5' };
    const { stdout } = await promisify(execFile)(process.execPath, [command, 'demo'], { env });
    expect(stdout.match(/@noble\/curves: the signature verifies under the group public key/g)).toHaveLength(2);
    expect(stdout.match(/group public key [0-9a-f]{64,66}/g)).toHaveLength(2);
    expect(stdout).toContain('DKG_COMPLETED');
    expect(stdout).toContain('SIGNATURE_COMPLETED');
    expect(stdout).toContain('Both signatures verify.');
  });
});
