/** Shows a secret that the API gives away once; only the statement that it was stored closes the dialog. */
import { Button } from './button.tsx'
import { CopyButton } from './copy-button.tsx'
import { closeDialog, Dialog } from './dialog.tsx'

interface SecretDialogProps {
  readonly title: string
  readonly text: string
  readonly label: string
  readonly secret: string
}

export function SecretDialog({ title, text, label, secret }: SecretDialogProps) {
  const footer = (
    <Button kind="primary" onClick={closeDialog}>
      I have stored it
    </Button>
  )
  return (
    <Dialog title={title} footer={footer} class="is-narrow" closable={false}>
      <p class="prose">{text}</p>
      <p class="secret">
        <code class="grow">{secret}</code>
        <CopyButton text={secret} label={label} />
      </p>
    </Dialog>
  )
}
