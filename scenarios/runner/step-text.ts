/** A step in words, for the recording. */
import type { ScenarioStep } from './format.ts';

export function stepText(step: ScenarioStep): string {
  if ('inject' in step) return `inject ${step.inject.fault}`;
  if ('heal' in step) return 'heal';
  if ('advance_ms' in step) return `advance ${step.advance_ms} ms`;
  if ('api' in step) return `${step.api}${byText(step)}`;
  if ('receiver' in step) return `receiver of ${step.receiver} answers ${step.answers.join(', ')}`;
  if (!('wait' in step)) return `${step.call}${'by' in step ? byText(step) : ''}${custodyText(step)}`;
  const { wait } = step;
  return `wait ${Object.entries(wait)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ')}`;
}

function byText({ by }: { readonly by?: string }): string {
  return by === undefined ? '' : ` by ${by}`;
}

/** The text of a wallet API step, for reports. */
function custodyText(step: ScenarioStep): string {
  if (!('call' in step)) return '';
  if (step.call === 'transfer') return `: ${step.amount} from ${step.from} to ${step.to}`;
  if (step.call === 'vote') return `: ${step.decision ?? 'approve'} ${step.intent}`;
  return '';
}
