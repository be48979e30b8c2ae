<?php // A webhook bot in plain PHP. It answers an update with 200 only when the update is handled to its end.

// First of all: an error that ends the script would else be a 200 wherever display_errors is on.
http_response_code(500);

if ($_SERVER['REQUEST_METHOD'] !== 'POST') {
    http_response_code(405);
    exit;
}
$secret = getenv('WEBHOOK_SECRET') ?: '';
if ($secret !== '' && !hash_equals($secret, $_SERVER['HTTP_X_TELEGRAM_BOT_API_SECRET_TOKEN'] ?? '')) {
    http_response_code(401);
    exit;
}

function call(string $method, array $parameters): void
{
    $root = getenv('BOT_API_ROOT') ?: 'https://api.telegram.org';
    $request = stream_context_create(['http' => [
        'method' => 'POST',
        'header' => 'Content-Type: application/json',
        'content' => json_encode($parameters, JSON_THROW_ON_ERROR),
        'timeout' => 15,
        'ignore_errors' => true,
    ]]);
    // Silenced, as the warning names the URL and with it the token.
    $answer = json_decode((string) @file_get_contents("$root/bot" . getenv('BOT_TOKEN') . "/$method", false, $request));
    if (!($answer->ok ?? false)) {
        throw new RuntimeException("$method failed: " . ($answer->description ?? 'no answer'));
    }
}

$update = json_decode(file_get_contents('php://input'), true, 512, JSON_THROW_ON_ERROR);
$chat = $update['message']['chat']['id'] ?? $update['callback_query']['message']['chat']['id'] ?? null;
$text = $update['message']['text'] ?? null;
$button = ['text' => 'Press me', 'callback_data' => 'press'];

if ($text !== null && preg_match('~^/start(@\w+)?(\s|$)~', $text)) {
    call('sendMessage', ['chat_id' => $chat, 'text' => 'Hello! Send me a word, or press the button.',
        'reply_markup' => ['inline_keyboard' => [[$button]]]]);
} elseif ($text !== null) {
    call('sendMessage', ['chat_id' => $chat, 'text' => "You said: $text"]);
} elseif ($chat !== null && ($update['callback_query']['data'] ?? null) === 'press') {
    try {
        call('answerCallbackQuery', ['callback_query_id' => $update['callback_query']['id'], 'text' => 'Thank you']);
    } catch (RuntimeException) {
        // Refused once the press was answered, or is long ago. What it asked for is done all the same.
    }
    call('sendMessage', ['chat_id' => $chat, 'text' => 'You pressed.']);
}
http_response_code(200);
