/** The model of a run that has not ended: events are appended as they come. Runs in the browser. */
import type { RunEvent } from '../../../../scenarios/faults/recording.ts';
import { encodeEvent, encoding } from './encode.ts';
import { makeModel, type RunModel } from './model.ts';
import { findSpans, type Spans } from './spans.ts';
import { makeStrings } from './strings.ts';

export interface LiveModel {
  readonly model: RunModel;
  readonly spans: Spans;
  append(events: readonly RunEvent[]): void;
}

export function makeLiveModel(nodes: number): LiveModel {
  const table = makeStrings();
  const run = { scenario: '', nodes, tookMs: 0, verdict: '', ...encoding, strings: table.strings };
  const model = makeModel(run, table);
  const spans = findSpans(model);
  return {
    model,
    spans,
    append: (events) => {
      model.append(events.map((event) => encodeEvent(event, table.indexOf)));
      spans.update();
    },
  };
}
