/**
 * Whether a scenario uses the wallet API. Simulated, such a scenario runs in the world of the whole product
 * (simulation/service/scenario/run.ts), any other in the world of the signing cluster only.
 */
import type { Fault, FaultKind } from '../faults/vocabulary/fault.ts';
import { apiServerKinds } from '../faults/vocabulary/kinds.ts';
import { isGateway, isWorker, targetsOf } from '../faults/vocabulary/targets.ts';
import { isCustodyStep } from './custody-format.ts';
import type { CheckedScenario, ScenarioStep } from './format.ts';

export function usesWalletApi({ cluster, clients, faults, expect }: CheckedScenario): boolean {
  const steps = Object.values(clients).flat();
  const injected = steps.flatMap((step) => ('inject' in step ? [step.inject] : []));
  return (
    cluster.gateways !== undefined ||
    cluster.workers !== undefined ||
    cluster.rate_limits !== undefined ||
    steps.some(isOfWalletApi) ||
    [...faults, ...injected].some(needsPorts) ||
    expect.some(({ intent, wallet, events, webhook }) => (intent ?? wallet ?? events ?? webhook) !== undefined)
  );
}

function isOfWalletApi(step: ScenarioStep): boolean {
  if (isCustodyStep(step) || ('transport' in step && step.transport !== undefined)) return true;
  return 'wait' in step && (step.wait.intent ?? step.wait.event ?? step.wait.webhook) !== undefined;
}

const ofApiServer: ReadonlySet<FaultKind> = new Set(apiServerKinds);

/** Only the world of the whole product has API servers, ports of gateways and workers, and simulated custodians. */
function needsPorts(fault: Fault): boolean {
  if (ofApiServer.has(fault.fault) || fault.fault === 'provider_fails' || fault.at?.port !== undefined) return true;
  const targets = targetsOf(fault);
  return fault.fault.startsWith('store_') && targets.some((name) => isGateway(name) || isWorker(name));
}
