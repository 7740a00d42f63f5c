/** The refusal of fields that are not valid, the same everywhere: `details` has all of them, and the message ends with the first. */
import { type FieldIssue, ServiceError } from './service-error.ts';

/** Characters of a field's name, which may be the caller's text. */
const fieldCharsMax = 100;

/** 400 `the request is not valid: amount: too_large, and 1 more`. `what`: of which the fields are. */
export function invalidFields(details: readonly FieldIssue[], what = 'the request'): ServiceError {
  const [first] = details;
  const field = first === undefined || first.field === '' ? what : first.field.slice(0, fieldCharsMax);
  const more = details.length > 1 ? `, and ${details.length - 1} more` : '';
  // A line end at the end of a text is invisible: the words say it at once.
  const why = first?.issue === 'invalid_base64' ? `: ${first.message}` : '';
  return new ServiceError('invalidRequest', `${what} is not valid: ${field}: ${first?.issue}${why}${more}`, {
    details,
  });
}
