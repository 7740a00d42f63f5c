/** Log records as lines for people. */
import { describe, expect, test } from 'vitest';
import { parseRecord, printable, readable } from '../../cli/start/log-record.ts';

describe('a log record', () => {
  test.each([
    [{ level: 30, time: 1, pid: 2, hostname: 'h', name: 'n', v: 1, msg: 'link up' }, 'link up'],
    [{ level: 40, msg: 'link lost', node: 3, reason: 'closed' }, 'warn  link lost  node=3 reason=closed'],
    [{ level: 50, msg: 'failed', error: { message: 'no route', stack: 'x' } }, 'error  failed  error=no route'],
    [{ level: 60, msg: 'ended', list: [1, 'a'], none: null }, 'fatal  ended  list=[1,"a"] none=null'],
    [
      {
        level: 30,
        msg: 'request',
        role: 'gateway',
        method: 'POST',
        route: '/v1/x',
        path: '/v1/x',
        status: 201,
        duration_ms: 12.5,
      },
      'POST /v1/x  201  12.5 ms',
    ],
    [
      { level: 30, msg: 'request', method: 'GET', path: '/nowhere', status: 404, duration_ms: 1, tenant: 't' },
      'GET /nowhere  404  1 ms  tenant=t',
    ],
    [
      {
        level: 40,
        msg: 'request',
        door: 'grpc',
        method: 'x',
        route: 'InitiateSigning',
        grpc_status: 'OK',
        reason_code: 'RATE',
        duration_ms: 3,
      },
      'warn  gRPC InitiateSigning  OK RATE  3 ms',
    ],
    [{ level: 30, msg: 'request', duration_ms: 3 }, 'no request line  aborted  3 ms'],
    [{ level: 30, msg: 'a\u001b[31m', path: 'b\n' }, 'a\\u001b[31m  path=b\\u000a'],
  ])('%j', (record, line) => {
    expect(readable(record)).toBe(line);
  });

  test.each([
    ['{"level":30,"msg":"x"}', { level: 30, msg: 'x' }],
    ['{"level":"30"}', undefined],
    ['{"msg":"x"}', undefined],
    ['{"level":30', undefined],
    [' {"level":30}', undefined],
    ['text', undefined],
    ['', undefined],
  ])('is read from a line, or the line is none: %s', (line, expected) => {
    expect(parseRecord(line)).toEqual(expected);
  });

  test('controls no terminal', () => {
    expect(printable('a\tb\r\u007f\u0085ä€😀')).toBe('a\\u0009b\\u000d\\u007f\\u0085ä€😀');
  });
});
