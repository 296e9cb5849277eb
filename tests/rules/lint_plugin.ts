/**
 * Rules of this repository for Deno's linter. `lint_plugin_test.ts` runs them: as a plugin of `deno lint`, they crash one of a
 * hundred runs with a segmentation fault (Deno 2.9).
 */
const root = decodeURIComponent(new URL("../../", import.meta.url).pathname);

export const plugin: Deno.lint.Plugin = {
  name: "house",
  rules: {
    "no-ambient-clock": rule(isProduct, (report, path) => {
      // Components take the clock of the browser, and pass it on.
      if (path === "src/base/clock.ts" || path.endsWith(".tsx")) return {};
      const message = "Use a Clock that is passed in: tests can control it";
      return {
        MemberExpression(node) {
          const { object, property } = node;
          if (
            property.type !== "Identifier" || property.name !== "now" ||
            object.type !== "Identifier"
          ) return;
          if (object.name === "Date" || object.name === "performance") {
            report(node, message);
          }
        },
        NewExpression(node) {
          const { callee } = node;
          if (
            callee.type === "Identifier" && callee.name === "Date" &&
            node.arguments.length === 0
          ) report(node, message);
        },
        CallExpression(node) {
          if (
            node.callee.type === "Identifier" && node.callee.name === "Date"
          ) report(node, message);
        },
      };
    }),

    "no-status-literal": rule(isDataPlane, (report, path) => {
      if (
        path === "src/proxy/request/respond.ts" ||
        path === "src/policy/authentication/auth_responses.ts" ||
        path === "src/policy/rate_limit/rate_limit_rejection.ts"
      ) return {};
      const message =
        "Throw a GatewayError: only src/proxy/request/respond.ts knows the status of an error; policies reject with src/policy/authentication/auth_responses.ts";
      const check = (
        name: string | undefined,
        value: Deno.lint.Node | null | undefined,
      ) => {
        if (
          name !== undefined && /^status(Code)?$/.test(name) &&
          isErrorStatus(value)
        ) report(value, message);
      };
      return {
        Property: (node) => check(nameOf(node.key), node.value),
        PropertyDefinition: (node) => check(nameOf(node.key), node.value),
        VariableDeclarator: (node) => check(nameOf(node.id), node.init),
        AssignmentExpression: (node) => check(nameOf(node.left), node.right),
        AssignmentPattern: (node) => check(nameOf(node.left), node.right),
        CallExpression(node) {
          const [first] = node.arguments;
          if (
            /respon|reject|refuse|writeHead|status/i.test(
              nameOf(node.callee) ?? "",
            ) && isErrorStatus(first)
          ) report(first, message);
        },
      };
    }),

    "no-private-keyword": rule(isAnything, (report, _path, textOf) => {
      const check = (node: Deno.lint.Node) => {
        // Constructors can be private only with the keyword.
        if (/^(private|protected)\b(?! constructor)/.test(textOf(node))) {
          report(
            node,
            "Use a #private field: it is private at run time as well",
          );
        }
      };
      return {
        PropertyDefinition: check,
        MethodDefinition: check,
        TSParameterProperty: check,
      };
    }),

    "no-top-level-arrow": rule(isAnything, (report) => {
      const check = (node: Deno.lint.VariableDeclarator) => {
        if (isFunction(node.init)) {
          report(
            node,
            "Use a function declaration: it has a name and is hoisted",
          );
        }
      };
      return {
        "Program > VariableDeclaration > VariableDeclarator": check,
        "ExportNamedDeclaration > VariableDeclaration > VariableDeclarator":
          check,
      };
    }),

    "no-type-assertion": rule(isProduct, (report, path) => {
      if (/(decode|schema)[a-z_]*\.ts$/.test(path)) return {};
      const message =
        "Narrow the type or decode the value: assertions are not checked";
      return {
        TSAsExpression(node) {
          if (!isConst(node.typeAnnotation)) report(node, message);
        },
        TSTypeAssertion: (node) => report(node, message),
      };
    }),

    // Unlike the built-in rule, this one ignores keys: protocols have keys such as `client_id`.
    "camel-case-names": rule(isAnything, (report) => {
      const check = (node: Deno.lint.Node | Deno.lint.Parameter | null) => {
        if (
          node?.type !== "Identifier" || !/[a-z0-9]_[a-zA-Z0-9]/.test(node.name)
        ) return;
        report(node, `Write "${node.name}" in camel case`);
      };
      const checkFunction = (
        node:
          | Deno.lint.FunctionDeclaration
          | Deno.lint.FunctionExpression
          | Deno.lint.ArrowFunctionExpression,
      ) => {
        check(node.id);
        for (const parameter of node.params) check(parameter);
      };
      return {
        VariableDeclarator: (node) => check(node.id),
        ClassDeclaration: (node) => check(node.id),
        FunctionDeclaration: checkFunction,
        FunctionExpression: checkFunction,
        ArrowFunctionExpression: checkFunction,
      };
    }),

    // As in the style guide of Deno, except for tables and patterns, which are used like functions.
    "capital-constants": rule(isProduct, (report) => {
      const check = (node: Deno.lint.VariableDeclarator) => {
        const { id, init } = node;
        if (id.type !== "Identifier" || init === null) return;
        const isCapital = /^[A-Z][A-Z0-9_]*$/.test(id.name);
        if (isFixed(init) && !isCapital) {
          report(node, `Write "${id.name}" in capitals: it is a constant`);
        } else if (isTable(init) && isCapital) {
          report(
            node,
            `Write "${id.name}" in camel case: it is not a number or a string`,
          );
        }
      };
      return {
        "Program > VariableDeclaration[kind=const] > VariableDeclarator": check,
        "ExportNamedDeclaration > VariableDeclaration[kind=const] > VariableDeclarator":
          check,
      };
    }),

    "short-functions": rule(isProduct, (report, _path, textOf) => {
      const check = (node: Deno.lint.Node) => {
        const lines = textOf(node).split("\n").length;
        if (lines > MAX_FUNCTION_LINES) {
          report(
            node,
            `Split it: it has ${lines} lines, at most ${MAX_FUNCTION_LINES} fit on a screen`,
          );
        }
      };
      return {
        FunctionDeclaration: check,
        FunctionExpression: check,
        ArrowFunctionExpression: check,
      };
    }),

    "no-default-export": rule(isAnything, (report, path) => {
      // A declaration file describes the exports of a package.
      if (path.endsWith(".d.ts")) return {};
      return {
        ExportDefaultDeclaration: (node) =>
          report(node, "Use a named export: the name is the same everywhere"),
      };
    }),
  },
};

const MAX_FUNCTION_LINES = 60;

type Report = (node: Deno.lint.Node, message: string) => void;

/** Creates a rule for the files that `applies` accepts; paths are relative to the repository. */
function rule(
  applies: (path: string) => boolean,
  create: (
    report: Report,
    path: string,
    textOf: (node: Deno.lint.Node) => string,
  ) => Deno.lint.LintVisitor,
): Deno.lint.Rule {
  return {
    create(context) {
      const path = context.filename.replaceAll("\\", "/").replace(root, "");
      if (!applies(path)) return {};
      const report: Report = (node, message) =>
        context.report({ node, message });
      return create(report, path, (node) => context.sourceCode.getText(node));
    },
  };
}

function isAnything(): boolean {
  return true;
}

function isProduct(path: string): boolean {
  return /^((src|admin|cli)\/|main\.ts$|mod\.ts$)/.test(path);
}

function isDataPlane(path: string): boolean {
  return /^src\/(http|policy|proxy)\//.test(path);
}

function nameOf(node: Deno.lint.Node): string | undefined {
  if (node.type === "Identifier") return node.name;
  if (node.type === "MemberExpression") return nameOf(node.property);
  return node.type === "Literal" && typeof node.value === "string"
    ? node.value
    : undefined;
}

function isErrorStatus(
  node: Deno.lint.Node | null | undefined,
): node is Deno.lint.NumberLiteral {
  return node?.type === "Literal" && typeof node.value === "number" &&
    node.value >= 400 && node.value < 600;
}

function isFunction(node: Deno.lint.Node | null): boolean {
  if (
    node?.type === "TSAsExpression" || node?.type === "TSSatisfiesExpression"
  ) return isFunction(node.expression);
  return node?.type === "ArrowFunctionExpression" ||
    node?.type === "FunctionExpression";
}

/** Returns whether the node is a number or a string. */
function isFixed(node: Deno.lint.Node): boolean {
  if (node.type === "BinaryExpression") {
    return isFixed(node.left) && isFixed(node.right);
  }
  return node.type === "TemplateLiteral" ||
    (node.type === "Literal" &&
      (typeof node.value === "number" || typeof node.value === "string"));
}

function isTable(node: Deno.lint.Node): boolean {
  return node.type === "ArrayExpression" || node.type === "ObjectExpression" ||
    node.type === "NewExpression" ||
    (node.type === "Literal" && node.raw.startsWith("/"));
}

function isConst(node: Deno.lint.Node): boolean {
  return node.type === "TSTypeReference" && nameOf(node.typeName) === "const";
}
