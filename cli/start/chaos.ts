/** `up --chaos`: draws a plan of faults, arms them through the service's own API, and saves them as a scenario. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from '../../scenarios/faults/describe.ts';
import { toYaml } from '../../scenarios/runner/to-yaml.ts';
import { type ChaosSize, chaosPlan, chaosScenario } from '../../simulation/chaos/plan.ts';
import { type ChaosProfile, chaosProfileNames, chaosProfiles } from '../../simulation/chaos/profiles.ts';
import { exitCodes, Failure } from '../common/failure.ts';
import type { Ask } from './ready-keys.ts';

export interface ChaosRequest {
  readonly profile: ChaosProfile;
  readonly seed: string;
}

/** For the line that says that everything is ready. */
export interface ArmedChaos extends ChaosRequest {
  readonly about: string;
  /** In words; `missing` says why this service does not have it. */
  readonly faults: readonly { readonly id: string; readonly text: string; readonly missing?: string }[];
  /** The plan as a scenario. */
  readonly file: string;
}

/** As long as the API lets a fault live. */
const expiresInS = 86_400;

/** Without a seed: a random one. Throws a Failure for an unknown profile or a seed that is no file name. */
export function chaosRequest(profile: string, seed = String(Math.floor(Math.random() * 1e6))): ChaosRequest {
  if (!(chaosProfileNames as readonly string[]).includes(profile)) {
    const texts = chaosProfileNames.map((name) => `\n  ${name.padEnd(15)} ${chaosProfiles[name].about}`);
    throw new Failure(
      `--chaos has no profile ${JSON.stringify(profile)}. Give one of:${texts.join('')}`,
      exitCodes.usage,
    );
  }
  if (!/^[a-z0-9-]{1,40}$/.test(seed)) {
    throw new Failure('--chaos-seed takes 1 to 40 lower-case letters, digits and dashes.', exitCodes.usage);
  }
  return { profile: profile as ChaosProfile, seed };
}

/** Throws a Failure when the service does not take a fault that it should have. */
export async function armChaos(
  { profile, seed }: ChaosRequest,
  { ask, dataDir, ...size }: ChaosSize & { readonly ask: Ask; readonly dataDir: string },
): Promise<ArmedChaos> {
  const plan = chaosPlan(profile, seed, size);
  const faults: ArmedChaos['faults'][number][] = [];
  for (const fault of plan) {
    const body = JSON.stringify({ ...fault, expires_in_s: expiresInS });
    const { status, text } = await ask('/v1/sandbox/faults', { method: 'POST', body });
    if (status !== 201 && status !== 422) throw new Failure(`chaos cannot arm ${JSON.stringify(fault)}: ${text}`);
    const missing = status === 422 ? { missing: (JSON.parse(text) as ApiRefusal).error.message } : {};
    faults.push({ id: fault.id!, text: describe(fault), ...missing });
  }
  const name = `chaos-${profile}-${seed}`;
  const file = join(dataDir, `${name}.yaml`);
  mkdirSync(dataDir, { recursive: true });
  writeFileSync(file, toYaml(chaosScenario(name, profile, plan, size)), { mode: 0o600 });
  return { profile, seed, about: chaosProfiles[profile].about, faults, file };
}

interface ApiRefusal {
  readonly error: { readonly message: string };
}
