/** Lines of requests leave together; whatever matters more leaves at once, and nothing overtakes anything. */
import { expect, test } from 'vitest';
import { systemTimers } from '../../../core/actors/live/ports.ts';
import { gatheredLines } from '../../../gateway/access-log/gathered-lines.ts';

const info = (text: string) => `{"level":30,"msg":"${text}"}\n`;
const warn = (text: string) => `{"level":40,"msg":"${text}"}\n`;

function open() {
  const written: string[] = [];
  const due: (() => void)[] = [];
  const start = (_afterMs: number, run: () => void) => {
    due.push(run);
    return () => undefined;
  };
  const lines = gatheredLines({ write: (text: string) => written.push(text) }, { ...systemTimers, start });
  return { lines, written, due };
}

test('lines at level info are written together, after one wait', () => {
  const { lines, written, due } = open();
  for (const text of ['a', 'b', 'c']) lines.write(info(text));
  expect(written).toEqual([]);
  expect(due).toHaveLength(1);
  due[0]!();
  expect(written).toEqual([info('a') + info('b') + info('c')]);
  lines.write(info('d'));
  expect(due).toHaveLength(2);
});

test('a warning is written at once, behind what has gathered', () => {
  const { lines, written, due } = open();
  lines.write(info('a'));
  lines.write(warn('b'));
  expect(written).toEqual([info('a') + warn('b')]);
  due[0]!();
  expect(written).toHaveLength(1);
});

test('many lines do not wait, and the end of a process leaves none behind', () => {
  const { lines, written } = open();
  for (let count = 0; count < 40; count += 1) lines.write(info('x'.repeat(1000)));
  expect(written).toHaveLength(1);
  lines.flush();
  expect(written.join('')).toBe(info('x'.repeat(1000)).repeat(40));
});
