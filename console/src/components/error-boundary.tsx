/** Keeps the fault of one panel from the rest of the page. */
import { Component, type ComponentChildren } from 'preact'
import { Button, CopyButton } from './button.tsx'

export class ErrorBoundary extends Component<{ children: ComponentChildren }, { readonly error: Error | undefined }> {
  override state = { error: undefined as Error | undefined }

  static override getDerivedStateFromError(error: Error) {
    return { error }
  }

  override componentDidCatch(error: Error): void {
    console.error(error)
  }

  override render() {
    const { error } = this.state
    if (error === undefined) return this.props.children
    const report = `${location.href}\n${navigator.userAgent}\n${error.stack ?? error.message}`
    return (
      <div class="state is-failed" role="alert">
        <p>This panel could not be drawn. The rest of the page works. Copy the report for your operator.</p>
        <p class="row">
          <Button onClick={() => this.setState({ error: undefined })}>Try again</Button>
          <CopyButton text={report} label="Copy the report" />
        </p>
      </div>
    )
  }
}
