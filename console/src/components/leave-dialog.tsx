import { Button } from './button.tsx'
import { closeDialog, Dialog, openDialog } from './dialog.tsx'

/**
 * @param text What would be lost.
 * @param stay For what is not below the dialog.
 */
export function openLeaveDialog(text: string, leave: () => void, stay: () => void = closeDialog): void {
  const footer = (
    <>
      <Button onClick={stay}>Stay</Button>
      <Button
        kind="destructive"
        onClick={() => {
          closeDialog()
          leave()
        }}
      >
        Discard
      </Button>
    </>
  )
  openDialog(
    <Dialog title="Discard your changes?" footer={footer} onClose={stay} class="is-narrow">
      <p>{text}</p>
    </Dialog>,
  )
}
