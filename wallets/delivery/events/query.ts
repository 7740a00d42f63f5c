/** The query parameters of both ways of reading events: filters and positions in the log. */
import Type from 'typebox';
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { WholeNumberText } from '../../../gateway/api/schema-kit.ts';
import { isEventFilter } from './types.ts';

const typesMax = 20;

export const TypeFilter = Type.String({
  minLength: 1,
  maxLength: 1000,
  description: `event types, separated by commas, at most ${typesMax}; "wallet.*" matches all types with that prefix`,
  examples: ['transaction_intent.approved,wallet.*'],
});

export const ResourceFilter = Type.String({ minLength: 1, maxLength: 128, description: 'events of this resource' });

const sequenceMax = 999_999_999_999_999;

/** The sequence of an event, in a query or a header. */
export function sequenceText(description: string) {
  return WholeNumberText('^(0|[1-9][0-9]{0,14})$', 0, sequenceMax, description);
}

export const SequenceText = sequenceText(
  'events with a higher sequence; events that are no longer stored are an error',
);

/** Throws ServiceError. Empty: all types. */
export function readTypes(text: string | undefined): readonly string[] {
  if (text === undefined) return [];
  const types = text.split(',');
  const strangers = types.filter((type) => !isEventFilter(type));
  if (strangers.length > 0 || types.length > typesMax) {
    const issue = strangers.length > 0 ? 'not_allowed_value' : 'too_many_items';
    const message = `takes up to ${typesMax} event types, separated by commas`;
    throw new ServiceError('invalidRequest', 'the event types are not valid', {
      details: [{ field: 'type', issue, message }],
    });
  }
  return types;
}
