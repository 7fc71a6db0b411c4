import type { Transporter } from 'nodemailer'

export interface Mailer {
  /** @throws when the server refuses it */
  send(mail: { to: string; subject: string; text: string }): Promise<void>
  close(): void
}

/** Mail through SMTP_URL. The sender is the URL's user if that is an address, else no-reply at our own host. */
export function openMailer({ smtpUrl, publicUrl }: { smtpUrl: string; publicUrl: string }): Mailer {
  const user = decodeURIComponent(new URL(smtpUrl).username)
  const from = { name: 'Frame Library', address: user.includes('@') ? user : `no-reply@${new URL(publicUrl).hostname}` }
  let transport: Transporter | undefined
  async function connected(): Promise<Transporter> {
    // Loaded with the first mail: the package takes 10 MB.
    const { createTransport } = await import('nodemailer')
    transport ??= createTransport({
      url: smtpUrl,
      connectionTimeout: 10_000,
      greetingTimeout: 10_000,
      socketTimeout: 20_000,
    })
    return transport
  }
  return {
    async send({ to, subject, text }) {
      // The address is an object, so it is never parsed out of a header line. Plain text keeps the link as it is.
      const mail = await connected()
      await mail.sendMail({ from, to: { name: '', address: to }, subject, text, textEncoding: 'quoted-printable' })
    },
    close: () => transport?.close(),
  }
}
