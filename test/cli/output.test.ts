/** A command whose output is lost ends: in silence when its reader has ended, and with a reason otherwise. */
import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { endWithOutput, lostOutput } from '../../cli/common/output.ts';

function failing(code: string): Writable {
  return new Writable({
    write: (_chunk, _encoding, done) => done(Object.assign(new Error(`write ${code}`), { code })),
  });
}

test.each([
  ['EPIPE', 141, undefined],
  ['ENOSPC', 1, 'The output cannot be written: write ENOSPC.'],
])('%s ends a command with %s', async (code, exitCode, reason) => {
  const output = failing(code);
  const ended = new Promise((resolve) => {
    endWithOutput(output, resolve);
  });
  expect(lostOutput(output)).toBeUndefined();
  output.write('a line');
  expect(await ended).toBe(exitCode);
  expect(lostOutput(output)).toBe(reason);
});

test('a command that handles it itself is not ended', async () => {
  const output = failing('EPIPE');
  const ends: number[] = [];
  endWithOutput(output, (exitCode) => ends.push(exitCode));
  await new Promise((resolve) => {
    output.on('error', resolve).write('a line');
  });
  expect(ends).toEqual([]);
});
