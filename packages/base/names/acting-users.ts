/** Name under which one call acts for several users: what counts is what all of them may do. */

/** No user name holds several blanks in a row (`user-name.ts`). */
const separator = ',  '

export function joinUsers(users: Iterable<string>): string {
  return [...new Set(users)].join(separator)
}

/** The users of a call; one unless it acts for several. */
export function usersOf(name: string): string[] {
  return name.split(separator)
}
