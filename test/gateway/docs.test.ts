/** docs/http-and-grpc.md and the code say the same, in both directions. */
import { readFileSync } from 'node:fs';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { errorKinds } from '../../gateway/api/errors/kinds.ts';
import { jsonDepthMax } from '../../gateway/api/json-body.ts';
import { allScopes } from '../../gateway/api/scopes.ts';
import { freshMs, staleMs } from '../../gateway/auth/authenticator.ts';
import { tokenCharsMax } from '../../gateway/auth/token-format.ts';
import { rateLimitDefaults } from '../../gateway/limits/rate-limits.ts';
import { callDeadlineDefaultMs, callDeadlineMaxMs, inFlightDefaultMax } from '../../gateway/signing/signing-calls.ts';
import { grpcMessageBytesMax, httpBodyBytesMax } from '../../proto/limits.ts';

const text = readFileSync(new URL('../../docs/http-and-grpc.md', import.meta.url), 'utf8');

/** The cells of the table that follows this header row. */
function table(header: string): string[][] {
  const lines = text.slice(text.indexOf(header)).split('\n').slice(2);
  const rows = lines.slice(
    0,
    lines.findIndex((line) => !line.startsWith('|')),
  );
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

describe('docs/http-and-grpc.md', () => {
  it('has the registry of errors', () => {
    const registry = Object.entries(errorKinds).map(([kind, { http, code, grpc, reason }]) => [
      kind,
      String(http),
      `\`${code}\``,
      status[grpc],
      `\`${reason}\``,
    ]);
    expect(table('| Kind | HTTP |')).toEqual(registry);
  });

  it('has every scope', () => {
    const listed = text.slice(text.indexOf('Scopes: '), text.indexOf('## Rate limits'));
    expect([...listed.matchAll(/`([^`]+)`/g)].map(([, scope]) => scope)).toEqual(allScopes);
  });

  it('has the limits', () => {
    const limits = Object.fromEntries(table('| What | Limit |') as [string, string][]);
    expect(limits).toMatchObject({
      'HTTP body': `${httpBodyBytesMax} bytes`,
      'gRPC message': `${grpcMessageBytesMax} bytes`,
      'JSON nesting': `${jsonDepthMax} levels`,
      'calls of a class under way in one gateway': String(inFlightDefaultMax),
      'deadline of a call': `${callDeadlineDefaultMs / 1000} s, at most ${callDeadlineMaxMs / 1000} s`,
      'length of a token': `${tokenCharsMax} characters`,
    });
    expect(text).toContain(`for ${freshMs / 1000} s`);
    expect(text).toContain(`last ${staleMs / 60_000} minutes`);
    expect(rateLimitDefaults).toEqual({ windowS: 10, reads: 300, writes: 100, signing: 2_000 });
    expect(text.replaceAll('\n', ' ')).toContain('by default 300 reads, 100 writes and 2,000 signing calls in 10 s');
  });
});
