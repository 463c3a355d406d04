/** Passwords that Fairlead chooses and shows once. */
import { randomInt } from 'node:crypto'

/** 24 letters and digits that cannot be mistaken for each other: about 118 bits. */
export function generatePassword(): string {
  const alphabet = 'abcdefghijkmnpqrstuvwxyz23456789'
  const letters = Array.from({ length: 24 }, () => alphabet[randomInt(alphabet.length)])
  return [0, 6, 12, 18].map((from) => letters.slice(from, from + 6).join('')).join('-')
}
