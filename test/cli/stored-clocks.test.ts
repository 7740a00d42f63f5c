/** The clocks of a cluster as `up` stores them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { storedClocks } from '../../cli/cluster-files/stored-clocks.ts';
import { temporaryFolder } from './support/temporary.ts';

it('are as the last change left them, and the machine’s before the first', () => {
  const folder = temporaryFolder();
  expect(storedClocks(folder)).toMatchObject({ offsetMs: 0, ownMs: {} });
  storedClocks(folder).store(90_000_000, { 'node/3': -5_000 });
  expect(storedClocks(folder)).toMatchObject({ offsetMs: 90_000_000, ownMs: { 'node/3': -5_000 } });
});

it.each([
  '',
  '{}',
  '{"offset_ms":"1","own_ms":{}}',
  '{"offset_ms":1,"own_ms":{"node/1":null}}',
  '{"offset_ms":1,"own_ms":null}',
])('are refused when the file holds %j, with the remedy', (text) => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'clock.json'), text);
  expect(() => storedClocks(folder)).toThrow(/clock.json is damaged: remove it/);
});
