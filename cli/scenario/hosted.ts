/**
 * Runs scenario files on the sandbox of this process (POST /v1/sandbox/scenarios), one at a time, by the live runner: beside the
 * supervisor of a cluster, and in the embedded service. The runner is loaded with the first file.
 */

import type { SandboxApi } from '../../clients/testing/sandbox-api.ts';
import { ControlError, type ScenarioStatus } from '../../scenarios/faults/control.ts';
import type { ScenarioHost } from '../../scenarios/injection/ports.ts';
import type { CheckedScenario } from '../../scenarios/runner/format.ts';
import { errorText } from '../common/failure.ts';
import type { SandboxAddresses } from './live.ts';

export interface HostedSandbox extends SandboxAddresses {
  /** Whether faults of the client's API can be armed. */
  readonly hasApiFaults: boolean;
}

/** `sandbox`: undefined while it starts. */
export function hostedScenarios(sandbox: () => HostedSandbox | undefined): ScenarioHost {
  let status: ScenarioStatus | undefined;
  let isTaken = false;
  let ending = new AbortController();
  let over: Promise<void> = Promise.resolve();

  const note = (more: Partial<ScenarioStatus>): void => {
    status = { ...status!, ...more };
  };
  const run = async (api: SandboxApi, scenario: CheckedScenario, at: HostedSandbox, resets: boolean): Promise<void> => {
    const { signal } = ending;
    try {
      const [{ runOn }, { verdictInWords }] = await Promise.all([
        import('./live.ts'),
        import('../../clients/report/verdict.ts'),
      ]);
      if (resets) await api.reset();
      const onStep = (step: string) => note({ step, begun: status!.begun + 1 });
      const { verdict } = await runOn(api, scenario, '--live', at, { signal, onStep });
      const { sentence, cause } = verdictInWords(verdict);
      const why = verdict.kind === 'passed' ? '' : [sentence, cause].filter((text) => text !== '').join(': ');
      // It was possible when it began.
      note({ state: verdict.kind === 'unsupported' ? 'broken' : verdict.kind, cause: why });
    } catch (error) {
      const state = signal.aborted ? 'ended' : 'broken';
      note({ state, cause: signal.aborted ? 'a caller ended it' : errorText(error) });
    } finally {
      note({ endedMs: Date.now() });
      isTaken = false;
    }
  };
  return {
    get status() {
      return status;
    },
    start: async (file, resets) => {
      if (isTaken) {
        const message = `a scenario runs already: end it first, or wait for its end`;
        throw new ControlError({ code: 'conflict', message });
      }
      isTaken = true;
      try {
        const [{ hindranceOf }, { SandboxApi }] = await Promise.all([
          import('./live.ts'),
          import('../../clients/testing/sandbox-api.ts'),
        ]);
        const at = sandbox();
        if (at === undefined)
          throw new ControlError({ code: 'unavailable', message: 'the sandbox is starting: repeat later' });
        const scenario = await read(file);
        const api = new SandboxApi({ baseUrl: at.gateways[0]!.http, token: at.token });
        const hindrance = await hindranceOf(api, scenario, at, at.hasApiFaults);
        if (hindrance !== undefined) {
          const message = `${scenario.scenario} cannot run here: ${hindrance}`;
          throw new ControlError({ code: 'unsupported', field: 'file', message });
        }
        ending = new AbortController();
        const steps = Object.values(scenario.clients).flat().length;
        status = {
          scenario: scenario.scenario,
          state: 'running',
          startedMs: Date.now(),
          endedMs: null,
          steps,
          begun: 0,
          step: null,
          cause: '',
        };
        over = run(api, scenario, at, resets);
        return status;
      } catch (error) {
        isTaken = false;
        throw error;
      }
    },
    end: async () => {
      if (status?.state !== 'running') throw new ControlError({ code: 'not_found', message: 'no scenario runs' });
      ending.abort();
      await over;
      return status;
    },
  };
}

async function read(file: string): Promise<CheckedScenario> {
  const [{ loadScenario }, { YamlError }] = await Promise.all([
    import('../../scenarios/runner/load.ts'),
    import('../../scenarios/runner/yaml-file.ts'),
  ]);
  try {
    return loadScenario(file, { file: 'file' });
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    throw new ControlError({ code: 'invalid', field: 'file', message: error.message });
  }
}
