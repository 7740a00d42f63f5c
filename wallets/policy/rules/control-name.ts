/** Names of policies, lists and risk rules: no two of them look alike, so that no reader confuses them. */
import Type from 'typebox';

export const ControlName = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: '^[A-Za-z0-9_.-]+(?: [A-Za-z0-9_.-]+)*$',
  description: '1 to 100 characters of A-Z a-z 0-9 _ . - and single spaces between them',
});
