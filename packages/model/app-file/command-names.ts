/** Names of commands, which an alias cannot have. */
export const commandNames: readonly string[] = (
  'login logout open context init validate check deploy status logs exec run rollback promote approve reject cancel scale ' +
  'secret env domains db runs watch start diff apply export connect eject setup completion version help ' +
  'serve stop doctor backup'
).split(' ')
