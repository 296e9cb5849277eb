/** The first steps, while there is no route. */
import { linkTo } from "../../navigation/place.ts";
import { Section } from "../../kit/layout.tsx";

const steps = [
  {
    form: "provider",
    title: "Add your first provider",
    about: "Clients use its models; they never see its key.",
  },
  {
    form: "protectedMcp",
    title: "Protect your first MCP server",
    about: "Only users with a token of your identity provider reach it.",
  },
  {
    form: "mcpServer",
    title: "Add an MCP server",
    about: "Several servers can be behind one endpoint.",
  },
  {
    form: "route",
    title: "Add a route",
    about: "To any HTTP service.",
  },
] as const;

/** Links to the forms of the page Configuration. */
export function GetStarted() {
  return (
    <Section
      title="Get started"
      about="There is no route yet, so every request gets 404. A form adds lines to the configuration, and shows them before they apply."
    >
      <ul class="steps">
        {steps.map(({ form, title, about }) => (
          <li key={form}>
            <a class="step" href={linkTo("configuration", form)}>
              <strong>{title}</strong>
              <span class="quiet">{about}</span>
            </a>
          </li>
        ))}
      </ul>
    </Section>
  );
}
