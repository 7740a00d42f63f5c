/** Reads the environment by the table of variables. An empty value counts as unset, since compose files pass unset variables on as empty ones. */
import type { RateLimitConfig } from '../../gateway/limits/rate-limits.ts';
import { exitCodes, Failure } from '../common/failure.ts';
import { nearest } from '../common/nearest-word.ts';
import { type Variable, variables } from './variables.ts';

export type VariableName = keyof typeof variables;
export type Settings = {
  readonly [K in VariableName]: (typeof variables)[K] extends Variable<infer T> ? T : never;
};
export type Environment = Readonly<Record<string, string | undefined>>;

/** Throws a Failure (exit 2) that names every bad variable, one line each. Warnings are for people, never fatal. */
export function loadSettings(environment: Environment): { settings: Settings; warnings: readonly string[] } {
  const settings: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [name, entry] of Object.entries(variables) as [VariableName, Variable<unknown>][]) {
    const given = environment[name];
    const parsed = given === undefined || given === '' ? fallbackOf(entry) : entry.kind.parse(given);
    if (given !== undefined && given !== '' && parsed === undefined) {
      const shown = entry.secret ? 'its value (not shown)' : JSON.stringify(given);
      problems.push(`${name}: ${shown} must be ${entry.kind.allowed.replaceAll('`', '')}.`);
    }
    settings[name] = parsed;
  }
  if (problems.length > 0) throw new Failure(problems.join('\n'), exitCodes.usage);
  return { settings: settings as Settings, warnings: unknownVariables(environment) };
}

/** Only paths have a default that depends on the current directory. */
function fallbackOf(entry: Variable<unknown>): unknown {
  return typeof entry.fallback === 'string' ? entry.kind.parse(entry.fallback) : entry.fallback;
}

/** The value of a variable that this role requires. */
export function required<K extends VariableName>(settings: Settings, name: K): NonNullable<Settings[K]> {
  const value = settings[name];
  if (value !== undefined) return value as NonNullable<Settings[K]>;
  throw new Failure(
    `${name} is not set; it must be ${variables[name].kind.allowed.replaceAll('`', '')}.`,
    exitCodes.usage,
  );
}

/** Whether this cluster allows fault injection. Throws a Failure (exit 2) when production asks for it. */
export function faultsOn({ SIGNMESH_FAULTS: asked, SIGNMESH_ENVIRONMENT: environment }: Settings): boolean {
  if (environment === 'sandbox') return asked ?? true;
  if (asked !== true) return false;
  throw new Failure('SIGNMESH_FAULTS works only in a sandbox: unset it in production.', exitCodes.usage);
}

/**
 * Whether a node accepts client-supplied dealers; `unset`: the meaning of an unset variable for the calling role. Throws a
 * Failure (exit 2) when production asks for them.
 */
export function clientDealersAllowed(settings: Settings, unset: boolean): boolean {
  const { SIGNMESH_ALLOW_CLIENT_DEALERS: asked, SIGNMESH_ENVIRONMENT: environment } = settings;
  if (environment === 'sandbox') return asked ?? unset;
  if (asked !== true) return false;
  throw new Failure('SIGNMESH_ALLOW_CLIENT_DEALERS works only in a sandbox: unset it in production.', exitCodes.usage);
}

/** The variables' descriptions explain it. */
const rateLimitWindowS = 10;

/** undefined: calls are not counted. */
export function rateLimitsOf(settings: Settings): RateLimitConfig | undefined {
  if (!settings.SIGNMESH_RATE_LIMIT) return undefined;
  return {
    windowS: rateLimitWindowS,
    reads: settings.SIGNMESH_RATE_LIMIT_READS,
    writes: settings.SIGNMESH_RATE_LIMIT_WRITES,
    signing: settings.SIGNMESH_RATE_LIMIT_SIGNING,
  };
}

function unknownVariables(environment: Environment): string[] {
  const known = Object.keys(variables);
  return Object.keys(environment)
    .filter((name) => name.startsWith('SIGNMESH_') && !known.includes(name))
    .sort()
    .map((name) => {
      const candidate = nearest(name, known);
      const hint = candidate === undefined ? '' : ` Did you mean ${candidate}?`;
      return `${name} is not a variable of signmesh and is ignored.${hint}`;
    });
}
