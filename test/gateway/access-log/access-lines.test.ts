/** The lines that are written without pino are those that pino would write. */
import fc from 'fast-check';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import type { MachineMs } from '../../../core/actors/contract.ts';
import { writeAccessLines } from '../../../gateway/access-log/access-lines.ts';
import { AccessEntry, type Ending, logRequests } from '../../../gateway/access-log/access-log.ts';
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { codePoint } from '../../support/code-point.ts';
import { runs } from '../../support/thorough.ts';

const text = fc.string({ unit: codePoint, maxLength: 20 });
const maybe = <T>(some: fc.Arbitrary<T>) => fc.option(some, { nil: undefined });
const entries = fc
  .record({
    requestId: text,
    route: maybe(text),
    tenant: maybe(text),
    trace: maybe(
      fc.record({ correlationId: text, traceparent: fc.constantFrom('', `00-${'a'.repeat(32)}-b-01`, 'x') }),
    ),
    receipt: maybe(fc.record({ receiptId: text, state: text, reasonCode: text, sessionId: text })),
    error: maybe(fc.constant(new ServiceError('overloaded', 'too much', { details: [{ field: 'a', issue: 'b"c' }] }))),
  })
  .map(({ requestId, tenant, ...given }) => {
    const principal = tenant === undefined ? undefined : { tenant, tokenId: tenant };
    return Object.assign(new AccessEntry(requestId, 1.5), given, { principal }) as AccessEntry;
  });
const endings: fc.Arbitrary<Ending> = fc.record({
  door: fc.constantFrom('http' as const, 'grpc' as const),
  method: maybe(text),
  route: maybe(text),
  endedMs: fc.double({ min: 1.5, max: 1e6, noNaN: true }),
  path: maybe(text),
  status: maybe(fc.integer({ min: 100, max: 599 })),
  grpcStatus: maybe(fc.constantFrom('OK', 'RESOURCE_EXHAUSTED')),
  aborted: fc.boolean(),
  isProbe: fc.boolean(),
});

function linesOf(level: 'info' | 'debug', entry: AccessEntry, ending: Ending) {
  const [own, pinos]: [string[], string[]] = [[], []];
  const isDebug = level === 'debug';
  const timers = { epochMs: () => 1_700_000_000_000 as MachineMs };
  writeAccessLines({ to: { write: (line) => own.push(line) }, timers, role: 'gateway', isDebug }).ended(entry, ending);
  const timestamp = () => `,"time":${timers.epochMs()}`;
  const log = pino({ level, base: { role: 'gateway' }, timestamp }, { write: (line) => pinos.push(line) });
  logRequests(log).ended(entry, ending);
  return { own, pinos };
}

test('a line has the fields, the order and the level of pino', () => {
  fc.assert(
    fc.property(fc.constantFrom('info' as const, 'debug' as const), entries, endings, (level, entry, ending) => {
      const { own, pinos } = linesOf(level, entry, ending);
      expect(own).toEqual(pinos);
    }),
    { numRuns: runs(300, 3_000) },
  );
});

test('quotes and line ends of a caller stay inside their field', () => {
  const ending: Ending = { door: 'http', endedMs: 2, aborted: false, isProbe: false, path: '/"\\\n{"level":60}' };
  const { own } = linesOf('info', new AccessEntry('req_1', 1.5), ending);
  expect(own).toHaveLength(1);
  expect(own[0]!.trimEnd()).not.toContain('\n');
  expect(JSON.parse(own[0]!)).toMatchObject({ level: 30, path: ending.path, request_id: 'req_1', duration_ms: 0.5 });
});
