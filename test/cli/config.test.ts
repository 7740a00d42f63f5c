import { describe, expect, test } from 'vitest';
import { Failure } from '../../cli/common/failure.ts';
import { clientDealersAllowed, type Environment, faultsOn, loadSettings, required } from '../../cli/settings/config.ts';
import { type Variable, variables } from '../../cli/settings/variables.ts';
import { loadLimitDefaults } from '../../gateway/limits/load-control.ts';
import { rateLimitDefaults } from '../../gateway/limits/rate-limits.ts';
import { providerTimeoutDefaultMs } from '../../wallets/providers/deadlines.ts';

function failureOf(environment: Environment): Failure {
  try {
    loadSettings(environment);
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error('it was accepted');
}

const entries = Object.entries(variables) as [string, Variable<unknown>][];
/** Wrong for every kind: too long for texts and hosts, no number, no choice, no URL, no path. */
const wrongForAll = `\0${'x'.repeat(2000)}`;

describe('the environment', () => {
  test('an empty one gives the documented defaults', () => {
    const { settings, warnings } = loadSettings({});
    expect(warnings).toEqual([]);
    expect(settings).toMatchObject({
      SIGNMESH_HTTP_HOST: '127.0.0.1',
      SIGNMESH_HTTP_PORT: 8080,
      SIGNMESH_GRPC_HOST: '127.0.0.1',
      SIGNMESH_GRPC_PORT: 50051,
      SIGNMESH_NODES: 5,
      SIGNMESH_RATE_LIMIT: true,
    });
    expect(settings.SIGNMESH_DATA_DIR).toBe(`${process.cwd()}/.signmesh`);
    expect(settings.REDIS_URL).toBeUndefined();
  });

  test.each(entries)('a bad %s is refused by name, with what it must be', (name, entry) => {
    const failure = failureOf({ [name]: wrongForAll });
    expect(failure.exitCode).toBe(2);
    expect(failure.message.split('\n')).toHaveLength(1);
    expect(failure.message.startsWith(`${name}: `)).toBe(true);
    expect(failure.message).toContain(entry.kind.allowed.replaceAll('`', ''));
  });

  test.each(entries.filter(([, { secret }]) => secret))('the value of %s is never shown', (name) => {
    expect(failureOf({ [name]: `\0${'topsecret'.repeat(200)}` }).message).not.toContain('topsecret');
  });

  test('every bad variable is named, not only the first', () => {
    const { message } = failureOf({
      SIGNMESH_HTTP_PORT: '65537',
      SIGNMESH_GRPC_PORT: '65536',
      SIGNMESH_RATE_LIMIT: 'no',
    });
    expect(message.split('\n').map((line) => line.split(':')[0])).toEqual([
      'SIGNMESH_HTTP_PORT',
      'SIGNMESH_GRPC_PORT',
      'SIGNMESH_RATE_LIMIT',
    ]);
  });

  test('a schedule of retries is a list of pauses', () => {
    const read = (text: string) => loadSettings({ SIGNMESH_WEBHOOK_RETRY_SCHEDULE_MS: text }).settings;
    expect(read('100,200, 400').SIGNMESH_WEBHOOK_RETRY_SCHEDULE_MS).toEqual([100, 200, 400]);
    expect(read('5').SIGNMESH_WEBHOOK_RETRY_SCHEDULE_MS).toEqual([5]);
    for (const text of ['0', '100,', ',', '1.5', '-1', '100;200', '604800001', Array(21).fill('1').join(',')]) {
      expect(failureOf({ SIGNMESH_WEBHOOK_RETRY_SCHEDULE_MS: text }).message).toContain('pauses in milliseconds');
    }
  });

  test('an empty value counts as unset', () => {
    expect(loadSettings({ SIGNMESH_HTTP_PORT: '', REDIS_URL: '' }).settings).toEqual(loadSettings({}).settings);
  });

  test('an unknown variable of ours is a warning that names the nearest one', () => {
    expect(loadSettings({ SIGNMESH_HTP_PORT: '1', OTHER: 'x' }).warnings).toEqual([
      'SIGNMESH_HTP_PORT is not a variable of signmesh and is ignored. Did you mean SIGNMESH_HTTP_PORT?',
    ]);
  });

  test.each(['redis://localhost:6379', 'rediss://u:p@h:1/2'])('%s is a Redis URL', (url) => {
    expect(loadSettings({ REDIS_URL: url }).settings.REDIS_URL).toBe(url);
  });

  test.each(['http://localhost', 'redis://', 'localhost:6379'])('%s is none', (url) => {
    expect(failureOf({ REDIS_URL: url }).message).toMatch(/^REDIS_URL: /);
  });

  test('what a role cannot do without is named', () => {
    expect(() => required(loadSettings({}).settings, 'REDIS_URL')).toThrow(/^REDIS_URL is not set/);
  });

  test('the rate limits are the gateway’s own defaults', () => {
    const { settings } = loadSettings({});
    expect(settings.SIGNMESH_RATE_LIMIT_READS).toBe(rateLimitDefaults.reads);
    expect(settings.SIGNMESH_RATE_LIMIT_WRITES).toBe(rateLimitDefaults.writes);
    expect(settings.SIGNMESH_RATE_LIMIT_SIGNING).toBe(rateLimitDefaults.signing);
    expect(settings.SIGNMESH_LOAD_CALLS).toBe(loadLimitDefaults.inHandMax);
    expect(settings.SIGNMESH_LOAD_WAIT_MS).toBe(loadLimitDefaults.waitMs);
    expect(settings.SIGNMESH_PROVIDER_TIMEOUT_MS).toBe(providerTimeoutDefaultMs);
  });

  test.each([
    [{}, true],
    [{ SIGNMESH_FAULTS: 'off' }, false],
    [{ SIGNMESH_FAULTS: 'on' }, true],
    [{ SIGNMESH_ENVIRONMENT: 'production' }, false],
    [{ SIGNMESH_ENVIRONMENT: 'production', SIGNMESH_FAULTS: 'off' }, false],
  ])('%o: whether faults can be had is %s', (environment, expected) => {
    expect(faultsOn(loadSettings(environment).settings)).toBe(expected);
  });

  test('production that asks for faults is refused by name', () => {
    const { settings } = loadSettings({ SIGNMESH_ENVIRONMENT: 'production', SIGNMESH_FAULTS: 'on' });
    expect(() => faultsOn(settings)).toThrow(/SIGNMESH_FAULTS works only in a sandbox/);
  });

  test.each([
    [{}, false, false],
    [{}, true, true],
    [{ SIGNMESH_ALLOW_CLIENT_DEALERS: 'on' }, false, true],
    [{ SIGNMESH_ALLOW_CLIENT_DEALERS: 'off' }, true, false],
    [{ SIGNMESH_ENVIRONMENT: 'production' }, true, false],
  ])('%o, unset meaning %s: whether clients may supply dealers is %s', (environment, unset, expected) => {
    expect(clientDealersAllowed(loadSettings(environment).settings, unset)).toBe(expected);
  });

  test('production that asks for client-supplied dealers is refused by name', () => {
    const environment = { SIGNMESH_ENVIRONMENT: 'production', SIGNMESH_ALLOW_CLIENT_DEALERS: 'on' };
    const { settings } = loadSettings(environment);
    expect(() => clientDealersAllowed(settings, false)).toThrow(
      /SIGNMESH_ALLOW_CLIENT_DEALERS works only in a sandbox/,
    );
  });
});
